package dev.annals.tools.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.follower.Page;
import dev.annals.proof.LineReader;
import dev.annals.tools.cli.RecordSplitter.Format;
import dev.annals.tools.cli.RecordSplitter.Place;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a service may answer within the limits of a record, the commands can read. */
class LargestRecordTest {

    private static final String ID = "019910c4-5c4f-7aaa-8000-000000000001";
    private static final int MAX_METADATA_BYTES = 131_072;
    private static final String LINKS =
            ",\"next\":null,\"poll_more\":\"http://localhost/v1/project-logs?cursor=1-9f3a61c2\"}";

    private static String record(String metadata) {
        return "{\"id\":\"" + ID + "\",\"sequence_id\":1,\"action\":\"" + "\\u0001".repeat(255)
                + "\",\"actor\":{\"name\":\""
                + "\\u0001".repeat(1_024) + "\"},\"message\":\"" + "\\u0001".repeat(65_535) + "\",\"metadata\":"
                + metadata
                + "}";
    }

    static List<String> records() {
        String longNumbers = Stream.of(
                        "9".repeat(308), "0." + "9".repeat(398), "1" + "0".repeat(308), "-" + "7".repeat(308))
                .collect(Collectors.joining(", "));
        return List.of(
                record("{\"" + "k".repeat(MAX_METADATA_BYTES - 10) + "\": 1}"),
                record("{\"k\": \"" + "\\u0001".repeat(MAX_METADATA_BYTES / 6 - 3) + "\"}"),
                record("{\"k\": [" + (longNumbers + ", ").repeat(80) + "1]}"),
                record("{\"k\": " + "[".repeat(31) + "]".repeat(31) + "}"),
                record(IntStream.range(0, 10_000)
                        .mapToObj(i -> "\"" + i + "\": " + i % 10)
                        .collect(Collectors.joining(", ", "{", "}"))));
    }

    @ParameterizedTest
    @MethodSource("records")
    void aPageIsRead(String record) {
        Page<byte[]> page = PageReader.parse(("{\"results\":[" + record + "," + record + "]" + LINKS).getBytes(UTF_8));
        assertThat(page.records()).hasSize(2).allMatch(read -> new String(read, UTF_8).equals(record));
        assertThat(page.pollMore()).isEqualTo("1-9f3a61c2");
    }

    @ParameterizedTest
    @MethodSource("records")
    void aLineForPeopleIsMade(String record) throws Exception {
        assertThat(RecordTable.line(record.getBytes(UTF_8)))
                .hasSizeGreaterThan(65_535)
                .endsWith("\n");
    }

    @ParameterizedTest
    @MethodSource("records")
    void aLineOfAnExportIsReadAndResumedBehind(String record) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        RecordSplitter splitter = new RecordSplitter(Format.ndjson, out);
        byte[] line = (record + "\n").getBytes(UTF_8);
        splitter.feed(line, line.length);
        assertThat(splitter.last()).isEqualTo(new Place(1, ID));
        assertThat(out.toByteArray()).isEqualTo(line);
    }

    @ParameterizedTest
    @MethodSource("records")
    void aLineOfTheInputIsRead(String record) throws Exception {
        byte[] line = new LineReader(new ByteArrayInputStream((record + "\n").getBytes(UTF_8))).next();
        assertThat(new String(line, UTF_8)).isEqualTo(record);
    }

    @Test
    void anEndlessLineIsNoRecord() {
        RecordSplitter splitter = new RecordSplitter(Format.ndjson, new ByteArrayOutputStream());
        byte[] part = new byte[1 << 20];
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 100; i++) {
                        splitter.feed(part, part.length);
                    }
                })
                .isInstanceOf(ClientFailure.class);
    }
}
