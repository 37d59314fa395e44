package dev.annals.derived.log;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.StoredRecord;
import dev.annals.proof.Hash;
import dev.annals.proof.Seed;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;

/** The projection's computation for each record. */
public final class LeafHashing {

    private static final OffsetDateTime RECORDED_AT = OffsetDateTime.of(2026, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC);

    private LeafHashing() {}

    /** The leaf of a record at this place. */
    public static Hash leaf(AuditRecord record, long sequenceId, Seed tileSeed) {
        StoredRecord stored = new StoredRecord(record, sequenceId, RECORDED_AT, StoredRecord.byRole("annals"));
        return Leaves.of(stored).entry(tileSeed.ofRecord(sequenceId)).leaf();
    }
}
