package dev.annals.derived.move;

import dev.annals.SqlFixture;
import dev.annals.derived.move.ProjectMove.Step;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;

/** Databases between which projects move, and their moves. */
public final class MovedDatabases {

    public static final String HOME = "main";
    /** The name of all connections but those of the fixture. */
    static final String APPLICATION = "moved";

    private final Map<String, SqlFixture> databases;

    public MovedDatabases() {
        this(Map.of(
                HOME,
                SqlFixture.ofTheSchemaAlone(),
                "east",
                SqlFixture.ofTheSchemaAlone(),
                "west",
                SqlFixture.ofTheSchemaAlone()));
    }

    /** @param databases by their names, of which {@link #HOME} is one */
    public MovedDatabases(Map<String, SqlFixture> databases) {
        this.databases = databases;
    }

    /** Ends a mover. */
    public static final class KilledException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    public SqlFixture home() {
        return of(HOME);
    }

    public SqlFixture of(String database) {
        return databases.get(database);
    }

    Connection connect(String database, String role) throws SQLException {
        Connection connection = of(database).database().connect();
        SqlFixture.execute(connection, "set role " + role);
        SqlFixture.execute(connection, "set application_name = '" + APPLICATION + "'");
        return connection;
    }

    public UUID start(UUID project, String target) throws SQLException {
        UUID move = UUID.randomUUID();
        home().run("select annals.start_move('%s', '%s', '%s', '%s')".formatted(move, project, HOME, target));
        return move;
    }

    /** All movers of a move have the same lease, so that a later one need not wait for its end. */
    public ProjectMove mover(UUID move, ProjectMove.Progress progress) {
        return new ProjectMove(database -> connect(database, "annals_service"), HOME, move, move, progress);
    }

    public void finish(UUID move) throws SQLException {
        mover(move, (step, at) -> {}).run();
    }

    public static ProjectMove.Progress killedAt(Step killed) {
        return (step, at) -> {
            if (step == killed) {
                throw new KilledException();
            }
        };
    }

    public boolean cancel(UUID move) throws SQLException {
        try (Connection owner = home().connect()) {
            boolean cancelled = SqlFixture.texts(owner, "select annals.cancel_move('" + move + "')")
                    .get(0)
                    .equals("t");
            owner.commit();
            return cancelled;
        }
    }

    public String state(UUID move) throws SQLException {
        return home().text("select state from annals.move where id = '" + move + "'");
    }

    public String placement(UUID project, String database) throws SQLException {
        return of(database)
                .text("select placement || ' ' || coalesce(moved_to, '-') from annals.project where id = '" + project
                        + "'");
    }

    /** As the owner. */
    public void removeCopy(UUID project, String database) throws SQLException {
        of(database).removeLeft(project);
    }
}
