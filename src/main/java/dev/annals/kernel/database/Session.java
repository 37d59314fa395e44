package dev.annals.kernel.database;

import io.vertx.pgclient.PgConnection;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlConnection;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The session of a new connection. A pooler may silently drop the role and settings that the service asks for; as the owner of
 * the schema, the service would place its records a second time, by the trigger for other writers.
 *
 * @param started the start of the server, which identifies it
 */
record Session(
        String login, int backend, long started, boolean standby, List<String> wrong, Map<String, String> right) {

    static final String ROLE = "annals_service";

    /** The settings on which statements and functions rely; those of migrations and commands, too. */
    private static final Map<String, String> RELIED_ON = Map.of(
            "array_nulls", "on",
            "bytea_output", "hex",
            "default_transaction_deferrable", "off",
            "default_transaction_isolation", "read committed",
            // With a limit, an index would return only some rows.
            "gin_fuzzy_search_limit", "0",
            "intervalstyle", "postgres",
            "quote_all_identifiers", "off",
            "standard_conforming_strings", "on",
            "transform_null_equals", "off");

    /** The settings of a pool's session, besides the limits on time. */
    static final Map<String, String> SETTINGS = settings();

    private static Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>(RELIED_ON);
        // No function or operator of another schema can replace PostgreSQL's own.
        settings.put("search_path", "pg_catalog, pg_temp");
        // A plan made for small tables stays cached. If it read whole tables, it would get slower with every record.
        settings.put("enable_seqscan", "off");
        settings.put("enable_hashjoin", "off");
        settings.put("enable_mergejoin", "off");
        // Planning a page takes as long as reading it.
        settings.put("plan_cache_mode", "force_generic_plan");
        // A disabled method counts as very expensive, so that its plans would be compiled.
        settings.put("jit", "off");
        return settings;
    }

    /** For a session outside the pools. */
    static String settingsStatement() {
        return RELIED_ON.entrySet().stream()
                .map(setting -> "set " + setting.getKey() + " = '" + setting.getValue() + "'")
                .collect(Collectors.joining("; "));
    }

    static void prepare(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(settingsStatement());
        }
    }

    /**
     * Reads the row of {@code check_session.sql}.
     *
     * @param limits the longest times, by the names of PostgreSQL's settings; a session may have shorter ones
     */
    static Session of(Row row, Map<String, Duration> limits) {
        List<String> wrong = new ArrayList<>();
        Map<String, String> right = new LinkedHashMap<>();
        String role = row.getString("role");
        if (!role.equals(ROLE)) {
            wrong.add("it runs as " + role + " and not as " + ROLE);
            right.put("role", ROLE);
        }
        limits.forEach((name, limit) -> {
            long millis = row.getLong(name);
            if (millis <= 0 || millis > limit.toMillis()) {
                wrong.add(name + " is " + millis + " ms");
                right.put(name, Long.toString(limit.toMillis()));
            }
        });
        SETTINGS.forEach((name, value) -> {
            String found = row.getString(name);
            if (!found.equals(value)) {
                wrong.add(name + " is " + found);
                right.put(name, value);
            }
        });
        return new Session(
                row.getString("login"),
                row.getInteger("backend"),
                row.getLong("started"),
                row.getBoolean("standby"),
                wrong,
                right);
    }

    /** False behind a pooler, where each transaction may have another session. */
    boolean answersAlone(SqlConnection connection) {
        return connection instanceof PgConnection direct && direct.processId() == backend;
    }

    /**
     * Refuses a session without the role, a setting or a limit.
     *
     * @throws UnusableSessionException if the role, a setting or a limit is missing
     */
    void require() {
        if (wrong.isEmpty()) {
            return;
        }
        StringBuilder advice = new StringBuilder();
        right.forEach((name, value) -> advice.append(" alter role \"")
                .append(login.replace("\"", "\"\""))
                .append("\" set ")
                .append(name)
                .append(" = ")
                // Quotes would turn a list into one name.
                .append(value.indexOf(',') < 0 ? "'" + value + "'" : value)
                .append(';'));
        throw new UnusableSessionException("This session of the database cannot be used: " + String.join(", ", wrong)
                + ". Something between the service and PostgreSQL drops startup parameters, as PgBouncer does with"
                + " ignore_startup_parameters. Connect without it, or give the login what it needs in the database:"
                + advice);
    }
}
