package dev.annals.derived.log;

import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.Note;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a log stands: a row of {@code annals.merkle_log}.
 *
 * @param size how many records are in the tree
 * @param frontier the hashes that stand for them
 * @param epoch which log of the project this is, from 1
 * @param signedSize of how many records the newest note is; 0 if there is none
 * @param note the newest signed note
 * @param incarnation the database that signed it
 * @param halted why nothing is signed any more
 * @param cosigned the newest note that witnesses have cosigned
 */
record LogState(
        long size,
        List<Hash> frontier,
        int epoch,
        long signedSize,
        @Nullable String note,
        @Nullable String incarnation,
        @Nullable String halted,
        @Nullable String cosigned) {

    /** A log without any record. */
    static final LogState NEW = new LogState(0, List.of(), 1, 0, null, null, null, null);

    static @Nullable LogState of(RowSet<Row> rows) {
        for (Row row : rows) {
            return of(row);
        }
        return null;
    }

    static LogState of(Row row) {
        return new LogState(
                row.getLong("size"),
                frontier(row),
                row.getInteger("epoch"),
                row.getLong("signed_size"),
                row.getString("checkpoint"),
                row.getString("incarnation"),
                row.getString("halted"),
                row.getString("cosigned"));
    }

    private static List<Hash> frontier(Row row) {
        long size = row.getLong("size");
        return CompactRange.of(0, size, row.getBuffer("frontier").getBytes()).hashes();
    }

    /** All leaves as one range, which can be appended to. */
    CompactRange tree() {
        return CompactRange.of(0, size, frontier);
    }

    /** The same before the first record was taken in. */
    LogState withoutTree() {
        return new LogState(0, List.of(), epoch, signedSize, note, incarnation, halted, cosigned);
    }

    /** What the newest note says; null if there is none. */
    @Nullable
    Checkpoint checkpoint() {
        return note == null ? null : Checkpoint.of(Note.parse(note));
    }
}
