package dev.annals.tools.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

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
