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
 * What a new connection turned out to be. The service asks for its role and its settings as startup parameters; a pooler between it
 * and PostgreSQL may drop them, and nobody would say so: as the owner of the schema, the service would place its records a second
 * time, by the trigger for everybody else.
 *
 * @param login who logged in
 * @param backend the server process that answers
 * @param started when the server was started, which tells it from every other one
 * @param standby whether the server only reads
 */
record Session(
        String login, int backend, long started, boolean standby, List<String> wrong, Map<String, String> right) {

    static final String ROLE = "annals_service";

    /**
     * The settings that statements and functions rely on, whatever the database's or the login's own are: how values are
     * written and read, how constants are parsed, and what a transaction sees. They hold for migrations and commands, too.
     */
    private static final Map<String, String> RELIED_ON = Map.of(
            "array_nulls", "on",
            "bytea_output", "hex",
            "default_transaction_deferrable", "off",
            "default_transaction_isolation", "read committed",
            // With a limit, an index returns some of the rows that it has.
            "gin_fuzzy_search_limit", "0",
            "intervalstyle", "postgres",
            "quote_all_identifiers", "off",
            "standard_conforming_strings", "on",
            "transform_null_equals", "off");

    /** The settings that a session of the pool must have, besides the limits on time. */
    static final Map<String, String> SETTINGS = settings();

    private static Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>(RELIED_ON);
        // No function or operator of another schema can take the place of PostgreSQL's own.
        settings.put("search_path", "pg_catalog, pg_temp");
        // A plan that was made while the tables were small stays cached. With a sequential scan, or a join that reads a
        // whole table, it would get slower with every record. Every statement of the service goes by index, from a
        // bounded number of rows to the next.
        settings.put("enable_seqscan", "off");
        settings.put("enable_hashjoin", "off");
        settings.put("enable_mergejoin", "off");
        // For the same reason plans do not depend on the values; making one for each page takes as long as reading the
        // page.
        settings.put("plan_cache_mode", "force_generic_plan");
        // A method that is off counts as very expensive where there is no other way; every such plan would be compiled.
        settings.put("jit", "off");
        return settings;
    }

    /** A statement that gives a session outside of the pool the settings that statements rely on. */
    static String settingsStatement() {
        return RELIED_ON.entrySet().stream()
                .map(setting -> "set " + setting.getKey() + " = '" + setting.getValue() + "'")
                .collect(Collectors.joining("; "));
    }

    /** Gives a JDBC session the settings that statements rely on. */
    static void prepare(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(settingsStatement());
        }
    }

    /**
     * Reads the row of {@code check_session.sql}.
     *
     * @param limits on time, by the names of PostgreSQL's settings: shorter ones will do, none will not
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

    /** Whether the connection leads to this session alone. Behind a pooler, each transaction may be another session's. */
    boolean answersAlone(SqlConnection connection) {
        return connection instanceof PgConnection direct && direct.processId() == backend;
    }

    /** Refuses a session that lacks anything. */
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
                // A list in quotes would be one name.
                .append(value.indexOf(',') < 0 ? "'" + value + "'" : value)
                .append(';'));
        throw new UnusableSessionException("This session of the database cannot be used: " + String.join(", ", wrong)
                + ". Something between the service and PostgreSQL drops startup parameters, as PgBouncer does with"
                + " ignore_startup_parameters. Connect without it, or give the login what it needs in the database:"
                + advice);
    }
}
