package dev.annals.kernel.database;

import jakarta.inject.Singleton;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.Config;
import org.postgresql.PGConnection;

/** Opens JDBC connections to the service's databases, for work on threads that may block. */
@Singleton
public class JdbcConnections {

    /** With the times of the pools, a server ends what a vanished service has left. */
    private static final String SESSION = Session.SETTINGS.entrySet().stream()
                    .map(setting -> "set " + setting.getKey() + " = " + value(setting.getValue()))
                    .collect(Collectors.joining("; "))
            + "; set role " + Session.ROLE
            + "; set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3"
            + "; set tcp_user_timeout = 30000";

    private final Map<String, DatabaseUrl> urls;

    JdbcConnections(Config config) {
        this.urls = NamedDatabase.all(config).stream()
                .filter(named -> named.url().isPresent())
                .collect(Collectors.toMap(
                        NamedDatabase::name, named -> named.url().orElseThrow()));
    }

    // Quotes would turn a list into one name.
    private static String value(String value) {
        return value.indexOf(',') < 0 ? "'" + value + "'" : value;
    }

    /** The names of the databases that it opens. */
    public List<String> names() {
        return urls.keySet().stream().sorted().toList();
    }

    /**
     * Opens a connection as the service's role. Blocks for at most ten seconds per server of the database.
     *
     * @param application a name that PostgreSQL shows
     * @throws SQLException if the database cannot be reached, has no URL, or is behind a pooler that shares sessions
     */
    public Connection open(String database, String application) throws SQLException {
        DatabaseUrl url = urls.get(database);
        if (url == null) {
            throw new SQLException("ANNALS_DATABASES and the URLs of databases do not name " + database);
        }
        Connection connection = url.connect();
        try (Statement statement = connection.createStatement()) {
            statement.execute(SESSION + "; set application_name = '" + application.replace("'", "''") + "'");
            requireOwnSession(connection, statement);
            return connection;
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    private static void requireOwnSession(Connection connection, Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("select pg_backend_pid()")) {
            row.next();
            if (row.getInt(1) != connection.unwrap(PGConnection.class).getBackendPID()) {
                throw new SQLException(
                        "Something between the service and PostgreSQL shares its sessions, as PgBouncer does."
                                + " Connect without a pooler.");
            }
        }
    }
}
