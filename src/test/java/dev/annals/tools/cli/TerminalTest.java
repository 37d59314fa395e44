package dev.annals.tools.cli;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TerminalTest {

    @Test
    void controlCharactersAreEscaped() {
        assertThat(Terminal.escaped("\u001B]0;title\u0007 \u009B31m \u007F a\r\nb\tc"))
                .isEqualTo("\\u001b]0;title\\u0007 \\u009b31m \\u007f a\\r\\nb\\tc");
    }

    @Test
    void invisibleCharactersAreEscapedAndEmojiAreNot() {
        assertThat(Terminal.escaped("\u202Ea\u2066b\u200Bc\u2028d\uFEFF\uD800\uDB40\uDC41"))
                .isEqualTo("\\u202ea\\u2066b\\u200bc\\u2028d\\ufeff\\ud800\\U000e0041");
        String emoji = "\uD83D\uDC69\u200D\uD83D\uDE80 \u00e4\u00f6\u00fc \u4e2d\u6587";
        assertThat(Terminal.escaped(emoji)).isEqualTo(emoji);
    }

    /** Node has the property, which Java lacks; the viewer's rule is asked for the same characters. */
    @Test
    void whatUnicodeLetsProgramsIgnoreIsEscapedHereAndInTheViewer(@TempDir Path folder) throws Exception {
        need(Files.isExecutable(Path.of("/usr/bin/node")), "Node");
        Files.copy(Path.of("src/main/resources/META-INF/resources/text.js"), folder.resolve("text.mjs"));
        Path script = Files.writeString(folder.resolve("ignored.mjs"), """
                import {shown} from './text.mjs';
                for (let c = 0; c < 0x110000; c++) {
                  const text = String.fromCodePoint(c);
                  const isHidden = /[\\p{DI}\\p{Cc}\\p{Bidi_Control}\\u2800]/u.test(text) && !'\\n\\t'.includes(text);
                  isHidden && console.log(c, shown(`a${text}b`).includes(text));
                }
                """);
        Path printed = folder.resolve("printed");
        Process process = new ProcessBuilder("/usr/bin/node", script.toString())
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Files.readAllLines(printed)).hasSizeGreaterThan(4_000).allSatisfy(line -> {
            String text = Character.toString(Integer.parseInt(line.split(" ")[0]));
            assertThat(line).as("in the viewer").endsWith(" false");
            assertThat(Terminal.escaped("a" + text + "b")).as(line).doesNotContain(text);
            assertThat(Terminal.escapedJson("a" + text + "b")).as(line).doesNotContain(text);
        });
    }

    @Test
    void marksWithoutEndAreEscaped() {
        assertThat(Terminal.escaped("e" + "\u0301".repeat(10) + "x\u0301"))
                .isEqualTo("e" + "\u0301".repeat(8) + "\\u0301\\u0301x\u0301");
        assertThat(Terminal.escapedJson("\"\u2764\uFE0F\u200D\uD83D\uDD25 a\u200D\uFE0F\""))
                .isEqualTo("\"\u2764\uFE0F\u200D\uD83D\uDD25 a\\u200d\\ufe0f\"");
    }

    @Test
    void anExportDoesNotControlATerminal() throws IOException {
        byte[] csv = "1,\"a\u001B[2J\u009B\u007F\",\u00e9\r\n2,\"b\rb\nc\u202e\"\r\n".getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        try (OutputStream lines = Terminal.exportTo(shown, false)) {
            // A character may come in two parts.
            for (byte part : csv) {
                lines.write(new byte[] {part});
            }
            lines.write("3,\u0007".getBytes(StandardCharsets.UTF_8));
            lines.flush();
        }
        assertThat(shown.toString(StandardCharsets.UTF_8))
                .isEqualTo("1,\"a\\u001b[2J\\u009b\\u007f\",\u00e9\r\n2,\"b\\rb\nc\\u202e\"\r\n3,\\u0007");
        shown.reset();
        try (OutputStream lines = Terminal.exportTo(shown, true)) {
            lines.write("{\"message\":\"\u009d0;\uD83D\uDE80\u202e\"}\n".getBytes(StandardCharsets.UTF_8));
        }
        assertThat(shown.toString(StandardCharsets.UTF_8))
                .isEqualTo("{\"message\":\"\\u009d0;\uD83D\uDE80\\u202e\"}\n");
    }

    @Test
    void everyTextOfARecordIsEscapedInItsLine() throws Exception {
        String evil = "\\u001b[1m\\n";
        String json = """
                {"sequence_id":7,"action":"%1$s","actor":{"name":"%1$s"},"subject":{"id":"%1$s"},\
                "outcome":"%1$s","message":"%1$s","timestamp":"2025-09-03T11:15:19.391447Z"}""".formatted(evil);
        assertThat(RecordTable.line(json.getBytes(StandardCharsets.UTF_8)))
                .isEqualTo("2025-09-03T11:15:19.391447Z  7  E  E  E \u2192 E  E\n".replace("E", "\\u001b[1m\\n"));
    }
}
