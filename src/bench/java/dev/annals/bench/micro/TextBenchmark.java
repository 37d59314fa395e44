package dev.annals.bench.micro;

import dev.annals.bench.SampleRecords;
import dev.annals.core.feed.Cursor;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.core.record.RecordReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.guid.SequentialGuid;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** Reading and writing the texts of the API: records of about 450 bytes, and cursors. */
@State(Scope.Benchmark)
public class TextBenchmark {

    private static final int PAGE = 200;
    private static final UUID RECORDER = UUID.randomUUID();

    private final SequentialGuid guids = new SequentialGuid();
    private final RecordReader reader = new RecordReader(guids);
    private final List<AuditRecord> records = new SampleRecords(1, guids).next(PAGE);
    private final List<StoredRecord> stored = records.stream()
            .map(record -> new StoredRecord(record, 1_000_000, record.timestamp(), StoredRecord.byToken(RECORDER)))
            .toList();
    private final byte[] one = SampleRecords.toJson(records.get(0));
    private final byte[] batch = batchOf(records);
    private final UUID project = UUID.randomUUID();
    private final String cursor =
            Cursor.behind(project, 1_000_000, records.get(0).id(), 17).toString();

    private static byte[] batchOf(List<AuditRecord> records) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (AuditRecord record : records) {
            bytes.writeBytes((bytes.size() == 0 ? "{\"records\":[" : ",").getBytes(StandardCharsets.US_ASCII));
            bytes.writeBytes(SampleRecords.toJson(record));
        }
        bytes.writeBytes("]}".getBytes(StandardCharsets.US_ASCII));
        return bytes.toByteArray();
    }

    /** A body of one record. */
    @Benchmark
    public AuditRecord readOne() {
        return reader.readRecord(one);
    }

    /** A body with a batch. */
    @Benchmark
    @OperationsPerInvocation(PAGE)
    public List<AuditRecord> readBatch() {
        return reader.readBatch(batch);
    }

    /** The records of a page. */
    @Benchmark
    @OperationsPerInvocation(PAGE)
    public List<EncodedRecord> writePage() {
        try (RecordEncoder encoder = new RecordEncoder(RecordEncoder.Format.JSON)) {
            return stored.stream().map(record -> encoder.encode(record, 17)).toList();
        }
    }

    /** A cursor from a link. */
    @Benchmark
    public Optional<Cursor> readCursor() {
        return Cursor.parse(cursor);
    }

    /** A cursor for a link. */
    @Benchmark
    public String writeCursor() {
        return Cursor.behind(project, 1_000_000, records.get(0).id(), 17).toString();
    }
}
