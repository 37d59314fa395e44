package dev.annals.bench;

import dev.annals.kernel.database.DatabaseUrl;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.flywaydb.core.Flyway;

/** A database of one part's own, gone when it is closed. */
public final class BenchDatabase implements AutoCloseable {

    private static final int STATEMENT_TIMEOUT_SECONDS = 300;

    private final BenchServer server;
    private final DatabaseUrl url;

    BenchDatabase(BenchServer server, DatabaseUrl url) {
        this.server = server;
        this.url = url;
    }

    /** The database's URL. */
    public DatabaseUrl url() {
        return url;
    }

    /** Brings in Annals' own schema. */
    public void migrate() {
        Flyway.configure()
                .dataSource(url.jdbcUrl(), url.user(), url.password())
                .schemas("annals")
                .defaultSchema("annals")
                .createSchemas(true)
                .load()
                .migrate();
    }

    /** A connection as the superuser, each statement its own transaction. The caller closes it. */
    public Connection connect() throws SQLException {
        Connection connection = url.connect();
        execute(connection, "set statement_timeout = '" + STATEMENT_TIMEOUT_SECONDS + "s'");
        return connection;
    }

    /** Runs statements that bind nothing. */
    public void execute(String sql) throws SQLException {
        try (Connection connection = connect()) {
            execute(connection, sql);
        }
    }

    /** Runs statements that bind nothing. */
    public static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The only value of the only row. */
    public long queryLong(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Adds projects to Annals' schema. */
    public List<UUID> addProjects(int count) throws SQLException {
        List<UUID> projects = new ArrayList<>();
        try (Connection connection = connect();
                PreparedStatement create =
                        connection.prepareStatement("select annals.create_project(id => ?, name => ?)")) {
            for (int i = 0; i < count; i++) {
                UUID id = UUID.randomUUID();
                create.setObject(1, id);
                create.setString(2, id.toString());
                create.execute();
                projects.add(id);
            }
        }
        return projects;
    }

    @Override
    public void close() throws SQLException {
        server.dropDatabase(url.database());
    }
}
