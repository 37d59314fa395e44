package dev.annals.bench;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Timestamps;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Records of about 450 bytes of JSON, such as a cloud's API would leave. It belongs to one thread. */
public final class SampleRecords {

    private static final String[] ACTIONS = {"volume_create", "volume_delete", "server_start", "server_stop", "login"};
    private static final String[] NAMES = {"jane", "john", "aisha", "wei", "olga", "pedro", "fatima", "lars"};

    private final SplittableRandom random;
    private final SequentialGuid guids;

    /** The same {@code seed} gives the same records, but for ids and times. */
    public SampleRecords(long seed, SequentialGuid guids) {
        this.random = new SplittableRandom(seed);
        this.guids = guids;
    }

    /** The next record, of now. */
    public AuditRecord next() {
        String name = NAMES[random.nextInt(NAMES.length)];
        String action = ACTIONS[random.nextInt(ACTIONS.length)];
        int number = random.nextInt(100_000);
        UUID subject = new UUID(random.nextLong(), random.nextLong());
        return new AuditRecord(
                guids.next(),
                action,
                new Party("user", "u-" + number, name + "@example.org"),
                new Party("volume", subject.toString(), "cache-" + number % 100),
                random.nextInt(20) == 0 ? "failure" : "success",
                "185.98." + random.nextInt(256) + "." + random.nextInt(256),
                "The call " + action + " on cache-" + number % 100 + " was made by " + name,
                Instant.now().truncatedTo(ChronoUnit.MICROS).atOffset(ZoneOffset.UTC),
                true,
                "{\"request\": \"" + Long.toHexString(random.nextLong()) + "\", \"region\": \"eu-" + number % 4
                        + "\"}");
    }

    /** Some records in a row. */
    public List<AuditRecord> next(int count) {
        List<AuditRecord> records = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            records.add(next());
        }
        return records;
    }

    /** A record as a client sends it that leaves its id to the service. */
    public static byte[] toJson(AuditRecord record) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JsonBody.generator(bytes)) {
            json.writeStartObject();
            json.writeStringField("action", record.action());
            writeParty(json, "actor", record.actor());
            writeParty(json, "subject", record.subject());
            json.writeStringField("outcome", record.outcome());
            json.writeStringField("ip_address", record.ipAddress());
            json.writeStringField("message", record.message());
            json.writeStringField("timestamp", Timestamps.format(record.timestamp()));
            json.writeFieldName("metadata");
            json.writeRawValue(record.metadata());
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static void writeParty(JsonGenerator json, String name, @Nullable Party party) throws IOException {
        if (party != null) {
            json.writeObjectFieldStart(name);
            json.writeStringField("type", party.type());
            json.writeStringField("id", party.id());
            json.writeStringField("name", party.name());
            json.writeEndObject();
        }
    }
}
