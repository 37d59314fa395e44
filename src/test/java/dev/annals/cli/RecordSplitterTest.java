package dev.annals.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever of an export arrives, only whole records are passed on, and the last of them says where to resume. */
class RecordSplitterTest {

    private static final String CSV = "sequence_id,message\r\n1,\"a\"\r\n2,\"b\r\n\"\"99,\"\"\r\n\"\r\n3,\"c\"\r\n";
    private static final String LINES = """
            {"sequence_id":1}
            {"sequence":"000000000000000002"}
            {"metadata":{"sequence":9},"unmapped":{"sequence_id":3}}
            """;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anExportThatBreaksOffAnywhereIsPutTogetherAgain(boolean csv) throws IOException {
        byte[] whole = (csv ? CSV : LINES).getBytes(UTF_8);
        for (int brokenAt = 0; brokenAt <= whole.length; brokenAt++) {
            for (int partLength : new int[] {1, 3, 1_000}) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                RecordSplitter splitter = new RecordSplitter(csv, out);
                feed(splitter, Arrays.copyOf(whole, brokenAt), partLength);
                assertThat(splitter.bytes()).isEqualTo(out.size());
                assertThat(splitter.lastSequenceId()).isEqualTo(splitter.records());
                splitter.beginAgain();
                feed(splitter, rest(csv, splitter.lastSequenceId()), partLength);
                assertThat(out.toString(UTF_8)).isEqualTo(csv ? CSV : LINES);
                assertThat(splitter.lastSequenceId()).isEqualTo(3);
            }
        }
    }

    /** What the service answers to a cursor; CSV with its header. */
    private static byte[] rest(boolean csv, long cursor) {
        String[] records = csv
                ? new String[] {"1,\"a\"\r\n", "2,\"b\r\n\"\"99,\"\"\r\n\"\r\n", "3,\"c\"\r\n"}
                : LINES.split("(?<=\n)", -1);
        StringBuilder rest = new StringBuilder(csv ? "sequence_id,message\r\n" : "");
        for (int i = (int) cursor; i < 3; i++) {
            rest.append(records[i]);
        }
        return rest.toString().getBytes(UTF_8);
    }

    private static void feed(RecordSplitter splitter, byte[] bytes, int partLength) throws IOException {
        for (int from = 0; from < bytes.length; from += partLength) {
            byte[] part = Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + partLength));
            splitter.feed(part, part.length);
        }
    }

    @Test
    void aFileOfAnotherKindIsNotResumed() throws IOException {
        RecordSplitter splitter = new RecordSplitter(false, new ByteArrayOutputStream());
        feed(splitter, "some text\n".getBytes(UTF_8), 100);
        assertThatThrownBy(splitter::lastSequenceId).isInstanceOf(ClientFailure.class);
    }
}
