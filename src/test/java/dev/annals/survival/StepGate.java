package dev.annals.survival;

import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Stops movers before they commit a step, until it is closed. */
final class StepGate implements AutoCloseable {

    private static final long LIMIT_SECONDS = 180;

    private static final String[] GATES = {
        "create schema gate",
        """
        create function gate.of_project() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
        declare
          step integer := case
            when new.placement = 'arriving' and old.placement is distinct from 'arriving' then 1
            when old.placement = 'here' and new.placement = 'sealed' then 3
            when old.placement = 'sealed' and new.placement = 'gone' then 5
            when old.placement = 'arriving' and new.placement = 'here' then 6
            when old.placement = 'arriving' and new.placement = 'gone' then 9
            when old.is_moving and not new.is_moving and new.placement = 'here' then 8
            when new.is_moving and not old.is_moving then 0 end;
        begin
          if step is not null then
            perform pg_advisory_xact_lock_shared(46, step);
          end if;
          return null;
        end $$""",
        """
        create function gate.of_move() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
        declare
          step integer := case
            when new.state = 'switched' and old.state = 'copying' then 4
            when new.ended_at is not null then 7
            when new.copied <> old.copied then 2 end;
        begin
          if step is not null then
            perform pg_advisory_xact_lock_shared(46, step);
          end if;
          return null;
        end $$""",
        "create trigger zz_gate after insert or update on annals.project for each row execute function gate.of_project()",
        "create trigger zz_gate after update on annals.move for each row execute function gate.of_move()"
    };

    /** The steps of a move as {@code dev.annals.derived.move.ProjectMove} has them, where each can be stopped before its commit. */
    enum Step {
        BEGUN,
        ARRIVING,
        COPYING,
        SEALED,
        SWITCHED,
        LEFT,
        OPENED,
        ENDED,
        STAYED,
        DISCARDED;

        /** The database that commits it. */
        String of(String source, String target) {
            return switch (this) {
                case BEGUN, SEALED, LEFT, STAYED -> source;
                case ARRIVING, OPENED, DISCARDED -> target;
                case COPYING, SWITCHED, ENDED -> ManyDatabases.HOME;
            };
        }
    }

    private final Step step;
    private final Connection holder;

    /**
     * A session that waits at the gate.
     *
     * @param backend its process in the server
     * @param port the local port of its client
     */
    record Waiting(int backend, int port) {}

    /** @param database the one that commits the step, with the triggers of {@link #install} */
    StepGate(Step step, DatabaseUrl database) throws SQLException {
        this.step = step;
        holder = database.connect();
        SqlFixture.execute(holder, "select pg_advisory_lock(46, " + step.ordinal() + ")");
    }

    /** Makes the triggers that stop movers. {@code drop schema gate cascade} removes them. */
    static void install(DatabaseUrl database) throws SQLException {
        try (Connection owner = database.connect()) {
            for (String sql : GATES) {
                SqlFixture.execute(owner, sql);
            }
        }
    }

    private List<Waiting> waiting() throws SQLException {
        return SqlFixture.texts(
                        holder,
                        "select pid || ' ' || client_port from pg_locks join pg_stat_activity using (pid)"
                                + " where locktype = 'advisory' and classid = 46 and objid = " + step.ordinal()
                                + " and not granted")
                .stream()
                .map(line -> line.split(" "))
                .map(line -> new Waiting(Integer.parseInt(line[0]), Integer.parseInt(line[1])))
                .toList();
    }

    /** Waits for a mover. */
    List<Waiting> awaitMover(Callable<String> situation) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (System.nanoTime() < end) {
            List<Waiting> movers = waiting();
            if (!movers.isEmpty()) {
                return movers;
            }
            TimeUnit.MILLISECONDS.sleep(2);
        }
        throw new AssertionError("no mover has come to " + step + "\n" + situation.call());
    }

    /** Rolls back what waits. Otherwise it commits later, even if its instance is gone by then. */
    void rollBack() throws SQLException {
        for (Waiting mover : waiting()) {
            SqlFixture.numbers(holder, "select case when pg_terminate_backend(" + mover.backend + ") then 1 end");
        }
    }

    @Override
    public void close() throws SQLException {
        try {
            holder.close();
        } catch (SQLException e) {
            // The server was killed.
        }
    }
}
