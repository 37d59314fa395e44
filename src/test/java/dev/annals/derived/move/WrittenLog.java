package dev.annals.derived.move;

import dev.annals.SqlFixture;
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
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/** The log of a feed, as the service writes it, but without a service. */
final class WrittenLog {

    private static final Sql READ_LEAF_RECORDS = Sql.named("derived/log/read_leaf_records");

    private WrittenLog() {}

    /** Writes the log of a feed from its end up to this size. Only full tiles can be continued. */
    static void grow(SqlFixture sql, UUID project, long size) throws SQLException {
        try (Connection owner = sql.connect()) {
            List<String> log = SqlFixture.texts(
                    owner,
                    "select encode(frontier, 'hex') || ' ' || size from annals.merkle_log where project_id = '"
                            + project + "'");
            String[] known = log.isEmpty() ? new String[] {"", "0"} : log.get(0).split(" ", -1);
            CompactRange range =
                    CompactRange.of(0, Long.parseLong(known[1]), HexFormat.of().parseHex(known[0]));
            while (range.end() < size) {
                append(owner, project, range, (int) Math.min(Tile.WIDTH, size - range.end()));
            }
            SqlFixture.execute(
                    owner,
                    "insert into annals.merkle_log (project_id, size, frontier, signed_size, checkpoint, incarnation) values ('"
                            + project + "', " + size + ", '\\x" + HexFormat.of().formatHex(range.bytes()) + "', " + size
                            + ", 'a note', annals.incarnation()) on conflict (project_id) do update set size = excluded.size,"
                            + " frontier = excluded.frontier, signed_size = excluded.size");
            owner.commit();
        }
    }

    private static void append(Connection owner, UUID project, CompactRange range, int count) throws SQLException {
        long start = range.end();
        long tile = start / Tile.WIDTH;
        SqlFixture.execute(
                owner,
                "insert into annals.merkle_seed (project_id, tile, seed) values ('" + project + "', " + tile
                        + ", sha256('seed " + tile + "')) on conflict do nothing");
        TileSeed seed = TileSeed.of(HexFormat.of()
                .parseHex(SqlFixture.texts(
                                owner,
                                "select encode(seed, 'hex') from annals.merkle_seed where project_id = '" + project
                                        + "' and tile = " + tile)
                        .get(0)));
        Hash[] entries = new Hash[count];
        try (PreparedStatement select = READ_LEAF_RECORDS
                        .bind("project_id", new String[] {project.toString()})
                        .bind("first", new Long[] {start + 1})
                        .bind("last", new Long[] {start + count})
                        .prepare(owner);
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                long sequenceId = row.getLong("sequence_id");
                entries[(int) (sequenceId - 1 - start)] = Objects.requireNonNull(StoredEntry.of(row, sequenceId, seed));
            }
        }
        StringBuilder hashes = new StringBuilder();
        CompactRange own = CompactRange.at(0);
        for (Hash entry : entries) {
            range.append(entry.leaf());
            own.append(entry.leaf());
            byte[] bytes = new byte[Hash.BYTES];
            entry.copyTo(bytes, 0);
            hashes.append(HexFormat.of().formatHex(bytes));
        }
        if (count == Tile.WIDTH) {
            byte[] root = new byte[Hash.BYTES];
            own.root().copyTo(root, 0);
            SqlFixture.execute(
                    owner,
                    "insert into annals.merkle_tile (project_id, level, tile, root, hashes) values ('" + project
                            + "', 0, " + tile + ", '\\x" + HexFormat.of().formatHex(root) + "', '\\x" + hashes + "')");
        }
    }
}
