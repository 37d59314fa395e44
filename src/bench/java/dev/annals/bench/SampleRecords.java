package dev.annals.bench;

import dev.annals.guid.SequentialGuid;
import dev.annals.record.AuditRecord;
import dev.annals.record.Party;
import dev.annals.record.RecordWriter;
import dev.annals.record.StoredRecord;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

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

    /** A record as a client sends it: without the fields that only answers have, and without an id. */
    public static byte[] toJson(AuditRecord record) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (var json = RecordWriter.generator(bytes)) {
            RecordWriter.write(new StoredRecord(record, 0, OffsetDateTime.MIN.withYear(2000)), json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }
}
