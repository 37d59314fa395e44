package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import dev.annals.tools.embedded.EmbeddedDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.Config;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyOut;
import picocli.CommandLine.Command;

/** {@code copy}: copies the embedded database into a PostgreSQL of the operator's own. */
@Command(
        name = "copy",
        mixinStandardHelpOptions = true,
        description = "Copies the embedded database in ANNALS_DATA_DIR, on which no service may run, into the one in"
                + " ANNALS_DATABASE_URL, which annals migrate has prepared and no service has used. It leaves out what"
                + " projects that have moved have left behind. The user has to own the schema and may have to set"
                + " session_replication_role. Exit code 0: everything is copied, and no service starts on the embedded database"
                + " any more; 1: nothing is, unless a service says that the embedded database was copied.")
@RegisterForReflection
public final class Copy implements Callable<Integer> {

    private static final Sql COPIED_TABLES = Sql.named("tools/ops/copied_tables");
    private static final Sql DESCRIBE_COPY = Sql.named("tools/ops/describe_copy");
    private static final Sql FINISH_COPY = Sql.named("tools/ops/finish_copy");

    private record Table(String name, String columns, String condition) {}

    private record Described(String schema, boolean unused, long natives, long appends, String incarnation) {}

    @Override
    @SuppressWarnings("SystemOut") // a command line tool
    public Integer call() throws SQLException, IOException {
        Config config = StartSettings.read();
        DatabaseUrl to = DatabaseUrl.configured(config)
                .orElseThrow(() ->
                        new IllegalArgumentException("Name the database that gets the copy in ANNALS_DATABASE_URL."));
        Path directory = EmbeddedDatabase.configuredDirectory(config);
        if (!EmbeddedDatabase.isIn(directory)) {
            throw new IllegalArgumentException("There is no database in " + directory
                    + ": set ANNALS_DATA_DIR to the directory of the embedded database.");
        }
        OperatedDatabase.logOnlyErrors();
        long rows;
        try (EmbeddedDatabase own = EmbeddedDatabase.start(directory);
                Connection source = own.url().connect();
                Connection target = to.connect()) {
            rows = copy(source, target);
            // Retired first: a crash between the two must not leave two databases that a service can start on.
            EmbeddedDatabase.retire(directory);
            target.commit();
        }
        System.out.println(rows + " rows are copied. Start the service with ANNALS_DATABASE_URL, and with its keys: "
                + "ANNALS_LOG_KEY_FILE=" + directory.resolve("log-key") + " and ANNALS_STREAMS_KEY_FILE="
                + directory.resolve("streams-key") + ". Move them, with log-key.seen, before you delete " + directory
                + ".");
        return 0;
    }

    /** Leaves the commit to the caller. No other session writes to either. */
    private static long copy(Connection source, Connection target) throws SQLException {
        source.setAutoCommit(false);
        target.setAutoCommit(false);
        Described from =
                describe(source, "The embedded database has no schema: start the service of this version on it once.");
        requireFit(
                from,
                describe(target, "The database in ANNALS_DATABASE_URL has no schema: run annals migrate for it."));
        // Triggers would place the records again.
        execute(target, "set local session_replication_role = replica");
        List<Table> tables = tables(source);
        execute(
                target,
                tables.stream()
                        .map(table -> "annals." + table.name)
                        .collect(Collectors.joining(", ", "truncate ", "")));
        long rows = 0;
        for (Table table : tables) {
            rows += copy(table, source, target);
        }
        try (PreparedStatement finish = FINISH_COPY
                .bind("incarnation", from.incarnation)
                .bind("appends", from.appends)
                .prepare(target)) {
            finish.execute();
        }
        return rows;
    }

    private static void requireFit(Described from, Described to) {
        if (!from.schema.equals(to.schema)) {
            throw new IllegalArgumentException(
                    "The embedded database and the one in ANNALS_DATABASE_URL have schemas of"
                            + " different versions. Start the service of this version on the one, and run annals migrate for the other.");
        }
        if (!to.unused) {
            throw new IllegalArgumentException(
                    "The database in ANNALS_DATABASE_URL is in use: name an empty one, and run annals migrate for it.");
        }
        if (from.natives > 0) {
            throw new IllegalArgumentException("Projects have " + from.natives
                    + " sequences of the kinds NATIVE or BIT_REVERSED, which only annals project move takes along:"
                    + " start the service with a member, and move these projects first.");
        }
    }

    private static List<Table> tables(Connection source) throws SQLException {
        List<Table> tables = new ArrayList<>();
        try (PreparedStatement select = source.prepareStatement(COPIED_TABLES.text());
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                tables.add(new Table(
                        rows.getString("name"), rows.getString("columns"), rows.getString("of_this_database")));
            }
        }
        return tables;
    }

    private static Described describe(Connection connection, String withoutSchema) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(DESCRIBE_COPY.text());
                ResultSet row = select.executeQuery()) {
            row.next();
            return new Described(
                    row.getString("schema"),
                    row.getBoolean("unused"),
                    row.getLong("natives"),
                    row.getLong("appends"),
                    row.getString("incarnation"));
        } catch (SQLException e) {
            if (String.valueOf(e.getSQLState()).matches("3F000|42(?!501).*")) {
                throw new IllegalArgumentException(withoutSchema, e);
            }
            throw e;
        }
    }

    private static long copy(Table table, Connection source, Connection target) throws SQLException {
        String query = "select " + table.columns + " from annals." + table.name + " where " + table.condition;
        CopyOut out = source.unwrap(PGConnection.class)
                .getCopyAPI()
                .copyOut("copy (" + query + ") to stdout (format binary)");
        CopyIn in = target.unwrap(PGConnection.class)
                .getCopyAPI()
                .copyIn("copy annals." + table.name + " (" + table.columns + ") from stdin (format binary)");
        for (byte[] data = out.readFromCopy(); data != null; data = out.readFromCopy()) {
            in.writeToCopy(data, 0, data.length);
        }
        return in.endCopy();
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
