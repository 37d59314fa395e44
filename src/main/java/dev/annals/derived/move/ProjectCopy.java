package dev.annals.derived.move;

import dev.annals.derived.proof.Tile;
import dev.annals.kernel.database.Sql;
import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;

/** Copies a project from the source of a move to its target. Each part goes on where the target ends. */
final class ProjectCopy {

    private static final Sql BEGIN_MOVE = Sql.named("derived/move/begin_move");
    private static final Sql ARRIVE_PROJECT = Sql.named("derived/move/arrive_project");
    private static final Sql FEED_END = Sql.named("derived/move/feed_end");
    private static final Sql READ_SEGMENTS = Sql.named("derived/move/read_segments");
    private static final Sql TAKE_PLACES = Sql.named("derived/move/take_places");
    private static final Sql STAGE_ARRIVAL = Sql.named("derived/move/stage_arrival");
    private static final Sql READ_LAST_PLACE = Sql.named("derived/move/read_last_place");
    private static final Sql HAS_PLACE = Sql.named("derived/move/has_place");
    private static final Sql COUNT_RECORDS = Sql.named("derived/move/count_records");
    private static final Sql READ_TAKEN = Sql.named("derived/move/read_taken");
    private static final Sql READ_REDACTIONS = Sql.named("derived/move/read_redactions");
    private static final Sql TAKE_REDACTIONS = Sql.named("derived/move/take_redactions");
    private static final Sql READ_TREE = Sql.named("derived/move/read_tree");
    private static final Sql READ_SEEDS = Sql.named("derived/move/read_seeds");
    private static final Sql TAKE_TREE = Sql.named("derived/move/take_tree");

    /** Records in one transaction of the target. */
    static final int CHUNK = 20_000;

    private static final int REDACTIONS = 500;
    /** 16 KiB of JSON each. */
    private static final int TILES = 256;

    private static final String APPEND = "project_id, id, shared_append_id, record_ids";
    /** Without {@code redaction}, which comes with the redactions. */
    private static final String RECORD = "project_id, id, placed_with, \"timestamp\", recorded_at, action, actor_type,"
            + " actor_id, actor_name, subject_type, subject_id, subject_name, outcome, ip_address, message, metadata,"
            + " number_sequence, number_value, recorded_by_token, recorded_by_role";

    private final Connection source;
    private final Connection target;
    private final UUID projectId;
    private final long epoch;
    private final ProjectMove.Move move;
    private final ProjectState state;
    private final ArrivedLog log;
    private @Nullable String project;

    ProjectCopy(Connection source, Connection target, ProjectMove.Move move) {
        this.state = new ProjectState(source, target, move);
        this.log = new ArrivedLog(target, move);
        this.source = source;
        this.target = target;
        this.move = move;
        this.projectId = move.projectId();
        this.epoch = move.epoch();
    }

    /**
     * The ends of a feed and of its log.
     *
     * @param head the last sequence id
     */
    record End(long head, long logSize, String logRoot) {}

    static End end(ResultSet row) throws SQLException {
        return new End(row.getLong("head"), row.getLong("log_size"), row.getString("log_root"));
    }

    End end(Connection of) throws SQLException {
        return end(of, move);
    }

    static End end(Connection of, ProjectMove.Move move) throws SQLException {
        return Jdbc.one(FEED_END.bind("project_id", move.projectId()), of, ProjectCopy::end);
    }

    void begin() throws SQLException {
        project = Jdbc.text(
                BEGIN_MOVE
                        .bind("project_id", projectId)
                        .bind("database", move.target())
                        .bind("epoch", epoch),
                source,
                "project");
    }

    /** From now on, the target refuses what another mover has read. */
    void arrive() throws SQLException {
        UUID mover = UUID.randomUUID();
        Jdbc.run(
                ARRIVE_PROJECT
                        .bind("project_id", projectId)
                        .bind("name", move.name())
                        .bind("project", project)
                        .bind("database", move.source())
                        .bind("epoch", epoch)
                        .bind("mover", mover),
                target);
        Jdbc.execute(target, "set annals.mover = '" + mover + "'");
        Jdbc.run(STAGE_ARRIVAL.binds(), target);
        log.resume();
        requireContinued();
    }

    private record Place(long sequenceId, int mark) {}

    /** A source that was restored meanwhile issues places once more that have arrived with other records. */
    private void requireContinued() throws SQLException {
        Place last = Jdbc.one(
                READ_LAST_PLACE.bind("project_id", projectId),
                target,
                row -> new Place(row.getLong("sequence_id"), row.getInt("mark")));
        boolean known = Jdbc.one(
                HAS_PLACE
                        .bind("project_id", projectId)
                        .bind("sequence_id", last.sequenceId)
                        .bind("mark", last.mark),
                source,
                row -> row.getBoolean("known"));
        if (!known) {
            throw new MoveException("record " + last.sequenceId + " of project " + projectId
                    + " has arrived, and the source has another one or none: the source was set back. Cancel the move");
        }
    }

    /**
     * Copies the next part of the feed, and the redactions in it.
     *
     * @return where the target ends then
     */
    long copyNext() throws SQLException {
        long copied = end(target).head();
        long head = end(source).head();
        if (head > copied) {
            copied = copyChunk(copied);
        }
        copyRedactions(copied);
        return copied;
    }

    /** Copies the feed up to this end. */
    long copyThrough(long head) throws SQLException {
        long copied = copyNext();
        while (copied < head) {
            copied = copyNext();
        }
        return copied;
    }

    /** All from one snapshot of the source: an append without its place, or a place without it, would not arrive. */
    private long copyChunk(long after) throws SQLException {
        return Jdbc.inTransaction(
                () -> {
                    Jdbc.execute(source, "set transaction isolation level repeatable read, read only");
                    long through = Jdbc.one(
                            READ_SEGMENTS
                                    .bind("project_id", projectId)
                                    .bind("after", after)
                                    .bind("most", CHUNK),
                            source,
                            this::take);
                    if (through <= after) {
                        throw new MoveException("the feed of project " + projectId + " ends beyond " + after
                                + " in the source, which has no next place");
                    }
                    return through;
                },
                target,
                source);
    }

    /** Returns the end of the segments, or 0 without any. The first one of a feed may be far from 1: what precedes it has expired. */
    private long take(ResultSet segments) throws SQLException {
        Array appendIds = segments.getArray("append_id");
        if (appendIds == null) {
            return 0;
        }
        Long[] firsts = (Long[]) segments.getArray("first_sequence_id").getArray();
        Long[] lasts = (Long[]) segments.getArray("last_sequence_id").getArray();
        long from = Math.max(firsts[0], segments.getLong("horizon") + 1);
        long through = lasts[lasts.length - 1];
        stream(
                "select a." + APPEND.replace(", ", ", a.") + " from annals.feed_segment s join annals.append a on"
                        + " a.project_id = s.project_id and a.id = s.append_id where s.project_id = '" + projectId
                        + "' and s.first_sequence_id between " + firsts[0] + " and " + firsts[firsts.length - 1],
                "pg_temp.arriving_append (" + APPEND + ")");
        stream(
                "select r." + RECORD.replace(", ", ", r.") + " from annals.places('" + projectId + "', " + from + ", "
                        + through + ") p cross join lateral (select * from annals.audit_record where project_id = '"
                        + projectId + "' and id = p.record_id offset 0) r order by p.sequence_id",
                "pg_temp.arriving_audit_record (" + RECORD + ")");
        Jdbc.run(
                TAKE_PLACES
                        .bind("project_id", projectId)
                        .bind("epoch", epoch)
                        .bind("append_id", appendIds.getArray())
                        .bind("first", firsts)
                        .bind("last", lasts)
                        .bind("mark", segments.getArray("mark").getArray()),
                target);
        long arrived = Jdbc.number(
                COUNT_RECORDS.bind("project_id", projectId).bind("first", from).bind("last", through),
                target,
                "records");
        if (arrived != through - from + 1) {
            throw new MoveException("of the records " + from + " to " + through + " of project " + projectId + ", "
                    + arrived + " have arrived");
        }
        return through;
    }

    /** COPY takes no binds; the values are ids and numbers. */
    private void stream(String query, String table) throws SQLException {
        CopyManager from = source.unwrap(PGConnection.class).getCopyAPI();
        CopyManager to = target.unwrap(PGConnection.class).getCopyAPI();
        CopyOut out = from.copyOut("copy (" + query + ") to stdout (format binary)");
        CopyIn in = to.copyIn("copy " + table + " from stdin (format binary)");
        try {
            for (byte[] data = out.readFromCopy(); data != null; data = out.readFromCopy()) {
                in.writeToCopy(data, 0, data.length);
            }
            in.endCopy();
        } finally {
            if (in.isActive()) {
                in.cancelCopy();
            }
            if (out.isActive()) {
                out.cancelCopy();
            }
        }
    }

    /**
     * The parts of the redactions and the tree that a database has.
     *
     * @param seed the last tile with a seed
     * @param tiles the last tile of each level
     */
    private record Taken(long redactions, long seed, List<Long> tiles) {}

    private Taken taken(Connection of) throws SQLException {
        return Jdbc.one(
                READ_TAKEN.bind("project_id", projectId),
                of,
                row -> new Taken(row.getLong("redactions"), row.getLong("seed"), List.of((Long[])
                        row.getArray("tiles").getArray())));
    }

    private record Redactions(String redactions, long count, String seeds) {}

    private void copyRedactions(long through) throws SQLException {
        while (true) {
            Taken taken = taken(target);
            Redactions next = Jdbc.one(
                    READ_REDACTIONS
                            .bind("project_id", projectId)
                            .bind("after", taken.redactions)
                            .bind("through", through)
                            .bind("seed", taken.seed)
                            .bind("most", REDACTIONS),
                    source,
                    row -> new Redactions(row.getString("redactions"), row.getLong("count"), row.getString("seeds")));
            if (next.count == 0) {
                return;
            }
            Jdbc.inTransaction(
                    () -> {
                        Jdbc.run(
                                TAKE_REDACTIONS
                                        .bind("project_id", projectId)
                                        .bind("epoch", epoch)
                                        .bind("redactions", next.redactions),
                                target);
                        takeTree("[]", next.seeds);
                        return true;
                    },
                    target);
        }
    }

    /** Copies what the tree has got since. */
    void copyRest() throws SQLException {
        List<Long> tiles;
        long count;
        do {
            tiles = taken(target).tiles;
            count = copyTree(tiles);
        } while (count > 0);
        // Redactions draw seeds behind the tree, in any order: there the last one does not say which have arrived.
        @Nullable Long seed = Math.min(tiles.get(0), taken(target).seed);
        while (seed != null) {
            seed = copySeeds(seed);
        }
        log.advance(Math.min(end(target).head(), (tiles.get(0) + 1) * Tile.WIDTH));
    }

    /** Null if there are none behind this tile, or the last one that was copied. */
    private @Nullable Long copySeeds(long tile) throws SQLException {
        return Jdbc.one(
                READ_SEEDS.bind("project_id", projectId).bind("tile", tile).bind("most", TILES), source, row -> {
                    Long last = row.getObject("last", Long.class);
                    if (last != null) {
                        takeTree("[]", row.getString("seeds"));
                    }
                    return last;
                });
    }

    private long copyTree(List<Long> tiles) throws SQLException {
        return Jdbc.one(
                READ_TREE
                        .bind("project_id", projectId)
                        .bind("tiles", tiles.toArray(Long[]::new))
                        .bind("most", TILES),
                source,
                row -> {
                    long count = row.getLong("count");
                    if (count > 0) {
                        takeTree(row.getString("tiles"), row.getString("seeds"));
                    }
                    return count;
                });
    }

    private void takeTree(String tiles, String seeds) throws SQLException {
        Jdbc.run(
                TAKE_TREE
                        .bind("project_id", projectId)
                        .bind("epoch", epoch)
                        .bind("tiles", tiles)
                        .bind("seeds", seeds),
                target);
    }

    /**
     * Copies what the project has besides its feed and tree.
     *
     * @param name of the project, in home
     * @return the digests of all that moves, of the source
     */
    String copyState(String name) throws SQLException {
        return state.copy(name);
    }

    /** Requires that the target has what the source had when it was sealed. */
    void requireEqual(End sealed, String digests) throws SQLException {
        End arrived = end(target);
        if (!arrived.equals(sealed)) {
            throw new MoveException("the copy of project " + projectId + " ends at " + arrived.head + " with a log of "
                    + arrived.logSize + ", and the source at " + sealed.head + " with a log of " + sealed.logSize);
        }
        log.requireRoot(sealed);
        List<String> differing = ProjectState.differing(target, projectId, digests);
        if (!differing.isEmpty()) {
            throw new MoveException("the copy of project " + projectId + " differs from its source in: "
                    + String.join(", ", differing));
        }
    }
}
