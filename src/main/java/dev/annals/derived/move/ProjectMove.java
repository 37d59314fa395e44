package dev.annals.derived.move;

import dev.annals.kernel.database.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * Carries one move to its end, from any state on. Blocks: do not call it on an event loop.
 *
 * <pre>
 * step       database  from its commit on                                     if the mover ends here
 * BEGUN      source    no record expires                                      resume, or cancel
 * ARRIVING   target    accepts the next places of this move
 * COPYING    target    has more of the feed, its redactions and its tree
 * SEALED     source    accepts nothing                                        writers wait: resume, or cancel
 * COPIED     target    has everything; ends and roots of both are equal
 * SWITCHED   home      the target has the project                             resume
 * LEFT       source    answers no reader
 * OPENED     target    accepts records
 * </pre>
 *
 * <p>The source leaves before the target opens, so no reader sees an old end of the feed after a newer one. If the source does
 * not answer then, the target opens without it, and the source leaves later.
 */
public final class ProjectMove {

    /** A step of a move. The last three end a move: STAYED and DISCARDED one that was cancelled. */
    public enum Step {
        BEGUN,
        ARRIVING,
        COPYING,
        SEALED,
        COPIED,
        SWITCHED,
        LEFT,
        OPENED,
        STAYED,
        DISCARDED,
        ENDED
    }

    /** Is told of each step after its commit. */
    public interface Progress {

        /** The target has the feed up to {@code sequenceId}. */
        void reached(Step step, long sequenceId);
    }

    /** Opens connections as the service's role. The move closes them. */
    public interface Connections {

        /** Opens a connection to the database with this name. */
        Connection open(String database) throws SQLException;

        /** Whether its streams may reach what those of home reach. */
        default boolean trusts(String database) {
            return true;
        }
    }

    /**
     * A row of {@code annals.move}.
     *
     * @param source the name of a database, like {@code target}
     * @param name of the project, in home
     */
    record Move(UUID projectId, String source, String target, long epoch, String state, String name) {}

    private static final Sql LEASE_MOVE = Sql.named("derived/move/lease_move");
    private static final Sql NOTE_MOVE = Sql.named("derived/move/note_move");
    private static final Sql SWITCH_MOVE = Sql.named("derived/move/switch_move");
    private static final Sql END_MOVE = Sql.named("derived/move/end_move");
    private static final Sql SEAL_PROJECT = Sql.named("derived/move/seal_project");
    private static final Sql LEAVE_PROJECT = Sql.named("derived/move/leave_project");
    private static final Sql OPEN_PROJECT = Sql.named("derived/move/open_project");
    private static final Sql STAY_HERE = Sql.named("derived/move/stay_here");
    private static final Sql READ_DECIDED_END = Sql.named("derived/move/read_decided_end");
    private static final Sql READ_DATABASE_END = Sql.named("derived/move/read_database_end");
    private static final Sql NOTE_END = Sql.named("access/places/note_end");
    private static final Sql DISCARD_ARRIVAL = Sql.named("derived/move/discard_arrival");

    /** Writers of a sealed project wait as long for the next mover. */
    static final int LEASE_SECONDS = 10;
    /** The SQLSTATE of {@code lease_move()} if another instance carries the move. */
    static final String CARRIED_ELSEWHERE = "55006";

    /** Places left to copy under the seal, at most. */
    private static final int NEAR = 200;

    private static final int REMOVED_PLACES = 5_000;
    /** A plan made without statistics of the target would scan its tables for each chunk, or for each record. */
    private static final String BY_INDEX =
            "set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off";

    /** A chunk takes seconds, and the removal of 5,000 places of 256 records a minute. */
    private static final String LIMITS = "set lock_timeout = '10s'; set statement_timeout = '2min';"
            // Longer than a statement of the other side.
            + " set idle_in_transaction_session_timeout = '3min'";

    private static final int LONGEST_ANSWER_MILLIS = 150_000;
    /** Writers wait. */
    private static final int LONGEST_ANSWER_SEALED_MILLIS = 15_000;
    /** An open transaction with a number of the project keeps the seal waiting, and the seal keeps writers waiting. */
    private static final String SEAL_WAITS = "set lock_timeout = '250ms'; set statement_timeout = '10s'";

    private static final String SEAL_DONE = "set lock_timeout = '10s'; set statement_timeout = '2min'";
    private static final long SEAL_PAUSE_MILLIS = 250;
    /** Lock timeout and deadlock. */
    private static final Set<String> BUSY = Set.of("55P03", "40P01");

    /** Of {@code open_project()}: the digests differ, or the target has lost even the project. */
    private static final Set<String> LACKING = Set.of("22000", "55000");

    private final Connections connections;
    private final String home;
    private final UUID id;
    private final UUID instance;
    private final Progress progress;
    /** By what they are in the move. */
    private final Map<String, Connection> opened = new ConcurrentHashMap<>();

    private volatile boolean aborted;

    /**
     * A move that was begun.
     *
     * @param home the name of the database that has the move
     * @param instance one carrier of moves at a time has this id
     */
    public ProjectMove(Connections connections, String home, UUID id, UUID instance, Progress progress) {
        this.connections = connections;
        this.home = home;
        this.id = id;
        this.instance = instance;
        this.progress = progress;
    }

    /**
     * Returns once the move is done or cancelled.
     *
     * @throws MoveException if the copy differs
     * @throws SQLException if a database fails, or another instance carries the move; call this again to resume
     */
    public void run() throws SQLException {
        try {
            Connection atHome = open("home", home);
            boolean ended = false;
            while (!ended) {
                Move move = lease(atHome);
                try {
                    ended = step(atHome, move);
                } catch (SQLException e) {
                    note(atHome, e);
                    throw e;
                }
            }
        } finally {
            for (Connection connection : opened.values()) {
                connection.close();
            }
            opened.clear();
        }
    }

    /** Ends {@link #run}, from another thread: its connections break. */
    void abort() {
        aborted = true;
        opened.values().forEach(ProjectMove::abort);
    }

    private static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static boolean isCarriedElsewhere(Throwable failure) {
        return failure instanceof SQLException error && CARRIED_ELSEWHERE.equals(error.getSQLState());
    }

    /** Without PostgreSQL's details, which have values of records. */
    static @Nullable String reason(SQLException failure) {
        ServerErrorMessage error = failure instanceof PSQLException refused ? refused.getServerErrorMessage() : null;
        if (error == null) {
            Throwable cause = failure.getCause();
            return cause == null ? failure.getMessage() : failure.getMessage() + " " + cause;
        }
        String hint = error.getHint();
        return error.getSeverity() + ": " + error.getMessage() + (hint == null ? "" : ". " + hint);
    }

    private void note(Connection atHome, SQLException failure) {
        if (aborted || Thread.currentThread().isInterrupted() || isCarriedElsewhere(failure)) {
            return;
        }
        try {
            Jdbc.run(NOTE_MOVE.bind("id", id).bind("copied", null).bind("error", ended() + reason(failure)), atHome);
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    /** Names the databases whose connections a failure has ended. */
    private String ended() throws SQLException {
        StringBuilder named = new StringBuilder();
        for (Map.Entry<String, Connection> each : opened.entrySet()) {
            if (!each.getValue().isValid(1)) {
                named.append("The connection to the ").append(each.getKey()).append(" has ended. ");
            }
        }
        return named.toString();
    }

    /** Returns whether the move has ended. */
    private boolean step(Connection atHome, Move move) throws SQLException {
        switch (move.state()) {
            case "copying" -> copy(atHome, move);
            case "switched" -> finish(atHome, move);
            case "cancelling" -> cancel(atHome, move);
            default -> {
                return true;
            }
        }
        return false;
    }

    /** @param what the database is in the move */
    private Connection open(String what, String database) throws SQLException {
        Connection known = opened.get(what);
        if (known != null) {
            return known;
        }
        Connection connection = connections.open(database);
        opened.put(what, connection);
        if (aborted) {
            throw new MoveException("the mover is stopping");
        }
        connection.setNetworkTimeout(Runnable::run, LONGEST_ANSWER_MILLIS);
        connection.setAutoCommit(true);
        Jdbc.execute(connection, BY_INDEX);
        Jdbc.execute(connection, LIMITS);
        return connection;
    }

    private Connection openSource(Move move) throws SQLException {
        return open("source", move.source());
    }

    private Connection openTarget(Move move) throws SQLException {
        return open("target", move.target());
    }

    private Move lease(Connection atHome) throws SQLException {
        return Jdbc.one(
                LEASE_MOVE.bind("id", id).bind("instance", instance).bind("seconds", LEASE_SECONDS),
                atHome,
                row -> new Move(
                        row.getObject("project_id", UUID.class),
                        row.getString("source"),
                        row.getString("target"),
                        row.getLong("epoch"),
                        row.getString("state"),
                        row.getString("name")));
    }

    private boolean isStillCopying(Connection atHome, long copied) throws SQLException {
        Jdbc.run(NOTE_MOVE.bind("id", id).bind("copied", copied).bind("error", null), atHome);
        return lease(atHome).state().equals("copying");
    }

    private void copy(Connection atHome, Move move) throws SQLException {
        Connection source = openSource(move);
        Connection target = openTarget(move);
        ProjectCopy copy = new ProjectCopy(source, target, move);
        copy.begin();
        progress.reached(Step.BEGUN, 0);
        discard(target, move.projectId(), move.epoch() - 1);
        copy.arrive();
        copy.copyState(move.name());
        progress.reached(Step.ARRIVING, copy.end(target).head());
        long copied;
        long left = Long.MAX_VALUE;
        long leftBefore;
        do {
            copied = copy.copyNext();
            progress.reached(Step.COPYING, copied);
            if (!isStillCopying(atHome, copied)) {
                return;
            }
            leftBefore = left;
            left = copy.end(source).head() - copied;
            if (left <= ProjectCopy.CHUNK) {
                // May take long, and the feed grows meanwhile: only then it is known what the seal has to wait for.
                copy.copyRest();
                left = copy.end(source).head() - copied;
            }
            // Writers that are as fast as the copy must not keep it from its end.
        } while (left > NEAR && (left > ProjectCopy.CHUNK || left < leftBefore / 2));

        ProjectCopy.End end = seal(atHome, source, move);
        if (end == null) {
            return;
        }
        progress.reached(Step.SEALED, copied);
        copied = copy.copyThrough(end.head());
        copy.copyRest();
        String digests = copy.copyState(lease(atHome).name());
        copy.requireEqual(end, digests);
        progress.reached(Step.COPIED, copied);
        noteEnd(source, move.source().equals(home) ? target : atHome);
        if (switchTo(atHome, end, digests)) {
            progress.reached(Step.SWITCHED, copied);
        }
    }

    /** Null if the move was cancelled meanwhile. */
    private ProjectCopy.@Nullable End seal(Connection atHome, Connection source, Move move) throws SQLException {
        Jdbc.execute(source, SEAL_WAITS);
        // If the answer of a committed seal is lost, writers wait until the next try.
        source.setNetworkTimeout(Runnable::run, LONGEST_ANSWER_SEALED_MILLIS);
        while (true) {
            try {
                ProjectCopy.End end = Jdbc.one(
                        SEAL_PROJECT
                                .bind("project_id", move.projectId())
                                .bind("database", move.target())
                                .bind("epoch", move.epoch()),
                        source,
                        ProjectCopy::end);
                for (Connection connection : opened.values()) {
                    connection.setNetworkTimeout(Runnable::run, LONGEST_ANSWER_SEALED_MILLIS);
                }
                Jdbc.execute(source, SEAL_DONE);
                return end;
            } catch (SQLException e) {
                if (!BUSY.contains(String.valueOf(e.getSQLState()))) {
                    throw e;
                }
            }
            if (!lease(atHome).state().equals("copying")) {
                return null;
            }
            pause();
        }
    }

    private static void pause() throws SQLException {
        try {
            Thread.sleep(SEAL_PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MoveException("the mover is stopping");
        }
    }

    /** False if the move was cancelled meanwhile. */
    private boolean switchTo(Connection atHome, ProjectCopy.End end, String digests) throws SQLException {
        return Jdbc.one(
                SWITCH_MOVE
                        .bind("id", id)
                        .bind("home", home)
                        .bind("head", end.head())
                        .bind("log_size", end.logSize())
                        .bind("log_root", end.logRoot())
                        .bind("digests", digests),
                atHome,
                row -> row.getBoolean("switched"));
    }

    private void finish(Connection atHome, Move move) throws SQLException {
        SQLException failure = null;
        try {
            change(LEAVE_PROJECT, openSource(move), move);
            progress.reached(Step.LEFT, 0);
        } catch (SQLException e) {
            failure = e;
        }
        Connection target = openTarget(move);
        Decided decided = Jdbc.one(
                READ_DECIDED_END.bind("id", id),
                atHome,
                row -> new Decided(ProjectCopy.end(row), row.getString("digests")));
        if (!open(decided, target, move)) {
            copyAgain(decided, target, move);
            if (!open(decided, target, move)) {
                throw new MoveException("the target has lost what was copied to it again");
            }
        }
        progress.reached(Step.OPENED, 0);
        if (failure != null) {
            throw failure;
        }
        noteEnd(target, move.target().equals(home) ? openSource(move) : atHome);
        end(atHome);
    }

    /** @param digests of all that had left the source */
    private record Decided(ProjectCopy.End end, String digests) {}

    /** False if the target lacks something. */
    private boolean open(Decided decided, Connection target, Move move) throws SQLException {
        try {
            Jdbc.run(
                    OPEN_PROJECT
                            .bind("project_id", move.projectId())
                            .bind("epoch", move.epoch())
                            .bind("digests", decided.digests)
                            .bind(
                                    "pauses_streams",
                                    connections.trusts(move.target()) && !connections.trusts(move.source())),
                    target);
            return true;
        } catch (SQLException e) {
            if (LACKING.contains(String.valueOf(e.getSQLState()))) {
                return false;
            }
            throw e;
        }
    }

    /** A target that was restored or promoted may have lost what had arrived. The source keeps its copy. */
    private void copyAgain(Decided decided, Connection target, Move move) throws SQLException {
        ProjectCopy copy = new ProjectCopy(openSource(move), target, move);
        copy.begin();
        copy.arrive();
        copy.copyState(move.name());
        copy.copyThrough(decided.end.head());
        copy.copyRest();
        copy.copyState(move.name());
        copy.requireEqual(decided.end, decided.digests);
    }

    /** A database that is restored to before this step is then noticed: see {@code annals.admit()}. */
    private static void noteEnd(Connection of, Connection in) throws SQLException {
        Jdbc.one(READ_DATABASE_END.binds(), of, row -> {
            Jdbc.run(
                    NOTE_END.bind("id", row.getObject("id"))
                            .bind("incarnation", row.getString("incarnation"))
                            .bind("head", row.getLong("head"))
                            .bind("mark", row.getInt("mark"))
                            .bind("log_size", row.getLong("log_size"))
                            .bind("log_root", row.getString("log_root")),
                    in);
            return true;
        });
    }

    private void cancel(Connection atHome, Move move) throws SQLException {
        change(STAY_HERE, openSource(move), move);
        progress.reached(Step.STAYED, 0);
        discard(openTarget(move), move.projectId(), move.epoch());
        progress.reached(Step.DISCARDED, 0);
        end(atHome);
    }

    private void end(Connection atHome) throws SQLException {
        Jdbc.run(END_MOVE.bind("id", id), atHome);
        progress.reached(Step.ENDED, 0);
    }

    private static void change(Sql sql, Connection connection, Move move) throws SQLException {
        Jdbc.run(sql.bind("project_id", move.projectId()).bind("epoch", move.epoch()), connection);
    }

    private static void discard(Connection target, UUID projectId, long epoch) throws SQLException {
        long removed;
        do {
            removed = Jdbc.number(
                    DISCARD_ARRIVAL
                            .bind("project_id", projectId)
                            .bind("epoch", epoch)
                            .bind("most", REMOVED_PLACES),
                    target,
                    "removed");
        } while (removed > 0);
    }
}
