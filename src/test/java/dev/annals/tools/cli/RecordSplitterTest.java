package dev.annals.tools.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.tools.cli.RecordSplitter.Format;
import dev.annals.tools.cli.RecordSplitter.Place;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Whatever of an export arrives, only whole records are passed on, and the last of them says where to resume. */
class RecordSplitterTest {

    private static final String HEADER = "sequence_id,id,message\r\n";
    private static final List<String> IDS = List.of(
            "019910c4-5c4f-7aaa-8000-000000000001",
            "019910c4-5c4f-7aaa-8000-000000000002",
            "019910c4-5c4f-7aaa-8000-000000000003");

    private static List<String> records(Format format) {
        List<String> templates = switch (format) {
            case ndjson ->
                List.of(
                        "{'sequence_id':1,'id':'%s','metadata':{'sequence':7,'uid':'x'}}\n",
                        "{'id':'%s','sequence_id':2}\n", "{'sequence_id':3,'id':'%s'}\n");
            case csv -> List.of("1,'%s','a'\r\n", "2,'%s','b\r\n''99,''x''\r\n'\r\n", "3,'%s',\r\n");
            case cloudevents ->
                List.of(
                        "{'id':'%s','sequence':'000000000000000001','data':{'sequence_id':7,'id':'x'}}\n",
                        "{'id':'%s','sequence':'000000000000000002'}\n",
                        "{'id':'%s','sequence':'000000000000000003'}\n");
            case ocsf ->
                List.of(
                        "{'metadata':{'uid':'%s','sequence':7},'unmapped':{'sequence_id':1,'metadata':{'uid':'x'}}}\n",
                        "{'metadata':{'uid':'%s'},'unmapped':{'sequence_id':2}}\n",
                        "{'metadata':{'uid':'%s'},'unmapped':{'sequence_id':3},'id':'x'}\n");
        };
        return List.of(
                record(templates.get(0), IDS.get(0)),
                record(templates.get(1), IDS.get(1)),
                record(templates.get(2), IDS.get(2)));
    }

    private static String record(String template, String id) {
        return template.replace('\'', '"').replace("%s", id);
    }

    /** The service's answer to a cursor. */
    private static String answer(Format format, int cursor) {
        return (format == Format.csv ? HEADER : "")
                + String.join("", records(format).subList(cursor, 3));
    }

    @ParameterizedTest
    @EnumSource(Format.class)
    void anExportThatBreaksOffAnywhereIsPutTogetherAgain(Format format) throws IOException {
        String whole = answer(format, 0);
        byte[] bytes = whole.getBytes(UTF_8);
        for (int brokenAt = 0; brokenAt <= bytes.length; brokenAt++) {
            for (int partLength : new int[] {1, 3, 1_000}) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                RecordSplitter splitter = new RecordSplitter(format, out);
                feed(splitter, Arrays.copyOf(bytes, brokenAt), partLength);
                assertThat(splitter.bytes()).isEqualTo(out.size());
                assertThat(splitter.isExport()).isEqualTo(out.size() > 0);
                int passed = (int) splitter.records();
                assertThat(splitter.last()).isEqualTo(passed == 0 ? null : new Place(passed, IDS.get(passed - 1)));
                splitter.beginAgain();
                feed(splitter, answer(format, passed).getBytes(UTF_8), partLength);
                assertThat(out.toString(UTF_8)).isEqualTo(whole);
                assertThat(splitter.last()).isEqualTo(new Place(3, IDS.get(2)));
            }
        }
    }

    private static void feed(RecordSplitter splitter, byte[] bytes, int partLength) throws IOException {
        for (int from = 0; from < bytes.length; from += partLength) {
            byte[] part = Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + partLength));
            splitter.feed(part, part.length);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "ndjson, some text",
        "ndjson, {}",
        "ndjson, '{\"sequence_id\":1,\"id\":null}'",
        "cloudevents, '{\"sequence_id\":1,\"id\":\"a\"}'",
        "csv, name",
        "csv, '{\"sequence_id\":1,\"id\":\"a\"}'"
    })
    void aFileOfAnotherKindIsNoExport(Format format, String line) throws IOException {
        RecordSplitter splitter = new RecordSplitter(format, new ByteArrayOutputStream());
        feed(splitter, (line + "\n").getBytes(UTF_8), 100);
        assertThat(splitter.isExport()).isFalse();
        feed(splitter, (line + "\n").getBytes(UTF_8), 100);
        assertThat(splitter.isExport()).isFalse();
        assertThatThrownBy(splitter::last).isInstanceOf(ClientFailure.class);
    }

    @Test
    void halfARecordIsNoExport() throws IOException {
        for (Format format : Format.values()) {
            RecordSplitter splitter = new RecordSplitter(format, new ByteArrayOutputStream());
            feed(splitter, answer(format, 0).substring(0, 10).getBytes(UTF_8), 100);
            assertThat(splitter.isExport()).isFalse();
        }
    }
}
