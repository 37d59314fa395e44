package dev.annals.kernel.database;

import static dev.annals.Tools.need;

import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.tools.embedded.InstalledPostgres;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A PgBouncer in front of a server, from the operating system; {@code -Dtests.pgbouncer} names another one. */
public final class PgBouncer implements AutoCloseable {

    /** The startup parameters of the service, which it refuses otherwise. */
    private static final String DROPPED = "role, lock_timeout, statement_timeout, idle_in_transaction_session_timeout,"
            + " tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count, tcp_user_timeout, enable_seqscan,"
            + " enable_hashjoin, enable_mergejoin, plan_cache_mode, jit, extra_float_digits, search_path, intervalstyle,"
            + " array_nulls, bytea_output, default_transaction_deferrable, default_transaction_isolation,"
            + " gin_fuzzy_search_limit, quote_all_identifiers, standard_conforming_strings, transform_null_equals";

    private static final Pattern VERSION = Pattern.compile("PgBouncer (\\d+)\\.(\\d+)");
    private static final int FIRST_WITH_PREPARED_STATEMENTS = 21;

    private final Process process;
    private final int port;
    private final Path settings;

    private PgBouncer(Process process, int port, Path settings) {
        this.process = process;
        this.port = port;
        this.settings = settings;
    }

    /**
     * Starts one.
     *
     * @param mode session or transaction
     * @param logins name and password
     */
    public static PgBouncer start(Path directory, InstalledPostgres server, String mode, Map<String, String> logins)
            throws Exception {
        String all = "* = host=127.0.0.1 port=" + server.url("postgres").port();
        return start(directory, all, mode, logins);
    }

    /**
     * Starts one whose administrators are all logins.
     *
     * @param database a line of the section {@code databases}
     */
    public static PgBouncer start(Path directory, String database, String mode, Map<String, String> logins)
            throws Exception {
        int port = Ports.free();
        StringBuilder users = new StringBuilder();
        logins.forEach((name, password) -> users.append('"' + name + "\" \"" + password + "\"\n"));
        Path userFile = Files.writeString(directory.resolve("users-" + port), users);
        List<String> lines = new ArrayList<>(List.of(
                "[databases]",
                database,
                "[pgbouncer]",
                "listen_addr = 127.0.0.1",
                "listen_port = " + port,
                "unix_socket_dir =",
                "auth_type = scram-sha-256",
                "auth_file = " + userFile,
                "admin_users = " + String.join(",", logins.keySet()),
                "pool_mode = " + mode,
                "default_pool_size = " + (mode.equals("transaction") ? 4 : 16),
                "ignore_startup_parameters = " + DROPPED));
        if (hasPreparedStatements()) {
            lines.add("max_prepared_statements = 200");
        }
        Path file = Files.write(directory.resolve("pgbouncer-" + port + ".ini"), lines);
        List<String> command = new ArrayList<>();
        if (System.getProperty("user.name").equals("root")) {
            // It refuses to run as root.
            command.addAll(List.of("unshare", "--user"));
        }
        command.addAll(List.of(program(), file.toString()));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("pgbouncer-" + port + ".log").toFile())
                .start();
        Await.until("PgBouncer listens", () -> Ports.isListening(port));
        return new PgBouncer(process, port, file);
    }

    /** Whether it supports prepared statements while it spreads transactions of one connection over several of the server's. */
    static boolean hasPreparedStatements() throws Exception {
        Process asked = new ProcessBuilder(program(), "--version").start();
        Matcher version = VERSION.matcher(new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        return version.find()
                && (Integer.parseInt(version.group(1)) > 1
                        || Integer.parseInt(version.group(2)) >= FIRST_WITH_PREPARED_STATEMENTS);
    }

    private static String program() {
        String named = System.getProperty("tests.pgbouncer");
        Path path = Path.of(named == null ? "/usr/sbin/pgbouncer" : named);
        need(Files.isExecutable(path), "PgBouncer at " + path);
        return path.toString();
    }

    /** The file of its settings. */
    public Path settings() {
        return settings;
    }

    /** The URL of a database of the server, by way of this one. */
    public DatabaseUrl url(String login, String password, String database) {
        return new DatabaseUrl(login, password, "127.0.0.1", port, database, Map.of("sslmode", "disable"));
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
