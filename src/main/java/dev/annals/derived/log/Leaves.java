package dev.annals.derived.log;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordRow;
import dev.annals.core.record.StoredRecord;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Timestamps;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.LeafRecord;
import dev.annals.proof.Seed;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlClient;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The entries of consecutive records in one tile, computed from the stored records. Entries of removed records are stored.
 *
 * @param start the index of the first leaf
 */
record Leaves(long start, List<Hash> entries) {

    private static final Sql READ_LEAF_RECORDS = Sql.named("derived/log/read_leaf_records");
    private static final RecordRow.Columns COLUMNS = new RecordRow.Columns();

    long end() {
        return start + entries.size();
    }

    CompactRange range() {
        CompactRange range = CompactRange.at(start);
        entries.forEach(entry -> range.append(entry.leaf()));
        return range;
    }

    Leaves and(Leaves next) {
        return new Leaves(
                start, Stream.concat(entries.stream(), next.entries.stream()).toList());
    }

    /**
     * A part of a feed to read.
     *
     * @param start the index of the first leaf
     * @param end the index after the last leaf; the feed may end before it
     * @param seed of the tile, to which all belong
     */
    record Range(UUID projectId, long start, long end, TileSeed seed) {}

    private static final class Reading {
        final Range range;
        private final Hash[] entries = new Hash[Tile.WIDTH];
        private int read;

        Reading(Range range) {
            this.range = range;
        }

        Boolean add(Row row) {
            long sequenceId = COLUMNS.sequenceId(row);
            Buffer kept = row.getBuffer("entry");
            entries[(int) (sequenceId - 1 - range.start())] =
                    kept == null ? entry(row, sequenceId, range.seed()) : Hash.at(kept.getBytes(), 0);
            read++;
            return Boolean.TRUE;
        }

        Leaves leaves() {
            return new Leaves(
                    range.start(),
                    IntStream.range(0, read).mapToObj(at -> entries[at]).toList());
        }
    }

    static Uni<Leaves> read(SqlClient client, UUID projectId, long start, long end, TileSeed tileSeed) {
        return read(client, List.of(new Range(projectId, start, end, tileSeed)))
                .map(leaves -> Objects.requireNonNull(leaves.get(projectId)));
    }

    /**
     * Hashes each row as it arrives, so that memory holds few records.
     *
     * @param ranges one of each feed
     * @return by project; fails with {@link DamagedLog} if a record is missing
     */
    static Uni<Map<UUID, Leaves>> read(SqlClient client, List<Range> ranges) {
        Map<UUID, Reading> readings = ranges.stream().collect(Collectors.toMap(Range::projectId, Reading::new));
        return READ_LEAF_RECORDS
                .bind("project_id", ranges.stream().map(Range::projectId).toArray(UUID[]::new))
                .bind("first", ranges.stream().map(range -> range.start() + 1).toArray(Long[]::new))
                .bind("last", ranges.stream().map(Range::end).toArray(Long[]::new))
                .execute(
                        client,
                        row -> Objects.requireNonNull(readings.get(row.getUUID("project_id")))
                                .add(row))
                .map(rows -> readings.values().stream()
                        .collect(Collectors.toMap(reading -> reading.range.projectId(), Reading::leaves)));
    }

    private static Hash entry(Row row, long sequenceId, TileSeed tileSeed) {
        if (!COLUMNS.hasRecord(row)) {
            throw new DamagedLog(
                    "record " + COLUMNS.recordId(row) + " with the sequence id " + sequenceId + " is gone");
        }
        return entry(COLUMNS.record(row, sequenceId), tileSeed);
    }

    private static Hash entry(StoredRecord record, TileSeed tileSeed) {
        Redaction redaction = record.redaction();
        if (redaction == null) {
            Seed seed = tileSeed.ofRecord(record.sequenceId());
            if (seed == null) {
                throw new DamagedLog("the seed of record " + record.record().id() + " with the sequence id "
                        + record.sequenceId() + " is gone, and nothing of it was redacted");
            }
            return of(record).entry(seed);
        }
        try {
            return of(record).entry(redaction.salts(), redaction.digests());
        } catch (IllegalArgumentException e) {
            throw new DamagedLog("a redacted field was changed: " + e.getMessage());
        }
    }

    /** The fields of a record that its leaf covers. */
    static LeafRecord of(StoredRecord stored) {
        AuditRecord record = stored.record();
        SortedMap<String, String> fields = new TreeMap<>();
        text(fields, "action", record.action());
        party(fields, "actor", record.actor());
        party(fields, "subject", record.subject());
        text(fields, "outcome", record.outcome());
        text(fields, "ip_address", record.ipAddress());
        text(fields, "message", record.message());
        text(fields, "timestamp", Timestamps.format(record.timestamp()));
        text(fields, "recorded_by", stored.recordedBy());
        if (record.numberSequence() != null && stored.numberValue() != null) {
            fields.put(
                    "number",
                    "{\"sequence\":" + CanonicalJson.quoted(record.numberSequence()) + ",\"value\":"
                            + stored.numberValue() + "}");
        }
        String metadata = record.metadata();
        if (metadata != null && !metadata.equals("{}")) {
            fields.put("metadata", CanonicalJson.of(metadata));
        }
        return new LeafRecord(
                record.id().toString(), stored.sequenceId(), Timestamps.format(stored.recordedAt()), fields);
    }

    private static void party(SortedMap<String, String> fields, String name, @Nullable Party party) {
        if (party != null) {
            text(fields, name + ".type", party.type());
            text(fields, name + ".id", party.id());
            text(fields, name + ".name", party.name());
        }
    }

    private static void text(SortedMap<String, String> fields, String name, @Nullable String value) {
        if (value != null) {
            fields.put(name, CanonicalJson.quoted(value));
        }
    }
}
