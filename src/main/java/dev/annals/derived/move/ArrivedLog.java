package dev.annals.derived.move;

import dev.annals.derived.log.StoredEntry;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Compares the records that have arrived with the log that has arrived: both must lead to the root at which the source was sealed. A
 * source that sends other records than its log has is found.
 */
final class ArrivedLog {

    private static final Sql READ_CHECKED = Sql.named("derived/move/read_checked");
    private static final Sql NOTE_CHECKED = Sql.named("derived/move/note_checked");
    private static final Sql READ_STORED_TILE = Sql.named("derived/log/read_stored_tile");
    private static final Sql READ_LEAF_RECORDS = Sql.named("derived/log/read_leaf_records");

    private final Connection target;
    private final UUID projectId;
    private final long epoch;
    /** Of the full tiles that match. */
    private CompactRange checked = CompactRange.at(0);

    ArrivedLog(Connection target, ProjectMove.Move move) {
        this.target = target;
        this.projectId = move.projectId();
        this.epoch = move.epoch();
    }

    /** Goes on where the last mover has ended. */
    void resume() throws SQLException {
        checked = Jdbc.one(
                READ_CHECKED.bind("project_id", projectId),
                target,
                row -> CompactRange.of(0, row.getLong("checked"), row.getBytes("frontier")));
    }

    /** Compares full tiles, until one does not match: its redactions may arrive later. */
    void advance(long size) throws SQLException {
        long before = checked.end();
        boolean matches = true;
        while (matches && checked.end() + Tile.WIDTH <= size) {
            List<Hash> entries = entries(checked.end(), Tile.WIDTH);
            matches = entries != null;
            if (entries != null) {
                entries.forEach(entry -> checked.append(entry.leaf()));
            }
        }
        if (checked.end() > before) {
            Jdbc.run(
                    NOTE_CHECKED
                            .bind("project_id", projectId)
                            .bind("epoch", epoch)
                            .bind("checked", checked.end())
                            .bind("frontier", checked.bytes()),
                    target);
        }
    }

    /** Requires that the records have the root of the sealed log. */
    void requireRoot(ProjectCopy.End sealed) throws SQLException {
        advance(sealed.logSize());
        int rest = (int) Math.min(sealed.logSize() - checked.end(), Tile.WIDTH);
        List<Hash> entries = entries(checked.end(), rest);
        if (entries != null && checked.end() + rest == sealed.logSize()) {
            CompactRange whole = CompactRange.of(0, checked.end(), checked.hashes());
            entries.forEach(entry -> whole.append(entry.leaf()));
            if (whole.root().equals(Hash.at(HexFormat.of().parseHex(sealed.logRoot()), 0))) {
                return;
            }
        }
        throw new MoveException("the records " + (checked.end() + 1) + " to " + (checked.end() + rest) + " of project "
                + projectId + " are not those that the log of the source has");
    }

    /** Null if a record is missing or does not match the stored tile. */
    private @Nullable List<Hash> entries(long start, int count) throws SQLException {
        byte[][] tile =
                Jdbc.one(READ_STORED_TILE.bind("project_id", projectId).bind("tile", start / Tile.WIDTH), target, row ->
                        new byte[][] {row.getBytes("seed"), row.getBytes("hashes")});
        if (tile[0] == null && count > 0) {
            return null;
        }
        @Nullable Hash[] entries = new Hash[count];
        try (PreparedStatement select = READ_LEAF_RECORDS
                        .bind("project_id", new String[] {projectId.toString()})
                        .bind("first", new Long[] {start + 1})
                        .bind("last", new Long[] {start + count})
                        .prepare(target);
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                long sequenceId = row.getLong("sequence_id");
                entries[(int) (sequenceId - 1 - start)] = entry(row, sequenceId, tile[0]);
            }
        } catch (IllegalArgumentException | DateTimeException e) {
            return null;
        }
        for (int at = 0; at < count; at++) {
            Hash entry = entries[at];
            if (entry == null || (tile[1] != null && !entry.equals(Hash.at(tile[1], at * Hash.BYTES)))) {
                return null;
            }
        }
        return Arrays.stream(entries).map(Objects::requireNonNull).toList();
    }

    /** Of a record that has expired, the log alone has the entry. */
    private static @Nullable Hash entry(ResultSet row, long sequenceId, byte[] seed) throws SQLException {
        byte[] kept = row.getBytes("entry");
        if (kept != null) {
            return Hash.at(kept, 0);
        }
        return row.getObject("id") == null ? null : StoredEntry.of(row, sequenceId, TileSeed.of(seed));
    }
}
