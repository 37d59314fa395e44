package dev.annals.core.record;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.JsonBody;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class WrittenRecordTest {

    private static final UUID ID = UUID.fromString("019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a");
    private static final OffsetDateTime THEN = OffsetDateTime.parse("2025-09-03T11:15:19.3914Z");
    private static final OffsetDateTime RECORDED = OffsetDateTime.parse("2025-09-03T13:15:20+02:00");

    @Test
    void aFullRecordIsWrittenFieldByFieldInTheOrderOfTheContract() throws IOException {
        AuditRecord record = new AuditRecord(
                ID,
                "volume_create",
                new Party("user", "u-1", "jane@example.org"),
                new Party(null, null, "cache"),
                "success",
                "185.98.122.110",
                "Volume \"cache\" ✓ 😀\n",
                THEN,
                false,
                "{\"size\": 1.50}");
        assertThat(written(new StoredRecord(record, 10_225, RECORDED, "role:jane")))
                .isEqualTo("""
                        {"id":"019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a","sequence_id":10225,"action":"volume_create",\
                        "actor":{"type":"user","id":"u-1","name":"jane@example.org"},"subject":{"name":"cache"},\
                        "outcome":"success","ip_address":"185.98.122.110","message":"Volume \\"cache\\" ✓ 😀\\n",\
                        "timestamp":"2025-09-03T11:15:19.391400Z","recorded_at":"2025-09-03T11:15:20.000000Z",\
                        "recorded_by":"role:jane","metadata":{"size": 1.50}}""");
    }

    @Test
    void absentFieldsAreLeftOutButMetadataIsAnEmptyObject() throws IOException {
        AuditRecord record = new AuditRecord(ID, "a", null, null, null, null, null, THEN, true, null);
        assertThat(written(new StoredRecord(record, 1, RECORDED, null))).isEqualTo("""
                        {"id":"019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a","sequence_id":1,"action":"a",\
                        "timestamp":"2025-09-03T11:15:19.391400Z","recorded_at":"2025-09-03T11:15:20.000000Z",\
                        "metadata":{}}""");
    }

    @Test
    void writtenRecordsAreReadBackWithTheSameContent() throws IOException {
        AuditRecord record = new AuditRecord(
                ID, "a", new Party("t", "", null), null, "o", "::1", "", THEN, false, "{\"k\":[1,2,{\"x\":null}]}");
        String json = written(new StoredRecord(record, 7, RECORDED, null))
                .replace("\"sequence_id\":7,", "")
                .replaceAll("\"recorded_at\":\"[^\"]*\",", "");
        RecordReader reader = new RecordReader(new SequentialGuid());
        assertThat(reader.readRecord(json.getBytes(StandardCharsets.UTF_8))).isEqualTo(record);
    }

    private static String written(StoredRecord stored) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JsonBody.generator(bytes)) {
            RecordEncoder.write(stored, json);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
