package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineSplitterTest {

    private static final int MAX_BYTES = 20;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 7, 15, 1_000})
    void linesAreTheSameHoweverTheBodyIsDivided(int partBytes) {
        assertThat(lines("\uFEFFone\n\n \t\r\nfive\r\n\uFEFFsix\n" + "x".repeat(100) + "\né\nlast", partBytes))
                .containsExactly("1 one", "4 five\r", "5 \uFEFFsix", "6 too long", "7 é", "8 last");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 100, 1_000})
    void aLongLineWithoutAnEndIsReported(int partBytes) {
        assertThat(lines("one\n" + "x".repeat(100), partBytes)).containsExactly("1 one", "2 too long");
    }

    private static List<String> lines(String body, int partBytes) {
        List<String> lines = new ArrayList<>();
        LineSplitter[] splitter = new LineSplitter[1];
        splitter[0] = new LineSplitter(
                MAX_BYTES,
                (bytes, from, to) -> lines.add(
                        splitter[0].count() + " " + new String(bytes, from, to - from, StandardCharsets.UTF_8)),
                number -> lines.add(number + " too long"));
        Buffer whole = Buffer.buffer(body);
        for (int at = 0; at < whole.length(); at += partBytes) {
            splitter[0].add(whole.slice(at, Math.min(whole.length(), at + partBytes)));
        }
        splitter[0].end();
        return lines;
    }
}
