package dev.annals.tools.embedded;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Ports;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A server of the PostgreSQL that the operating system has installed, with its programs: the embedded one comes without
 * pg_dump, pg_restore and pg_basebackup. It is looked for where Debian installs it.
 */
public final class InstalledPostgres implements AutoCloseable {

    private static final Path VERSIONS = Path.of("/usr/lib/postgresql");
    private static final String PASSWORD = "secret";

    private final Path data;
    private final DatabaseUrl url;
    private final Map<String, String> environment;
    private boolean killed;
    private String options = "";

    private InstalledPostgres(Path data, int port, Map<String, String> environment) {
        this.data = data;
        this.environment = environment;
        this.url = new DatabaseUrl("annals", PASSWORD, "127.0.0.1", port, "postgres", Map.of("sslmode", "disable"));
    }

    /** Makes a cluster in {@code directory} and starts it. */
    public static InstalledPostgres start(Path directory) throws Exception {
        return start(directory, Map.of());
    }

    /** The same with more in the environment of the server's processes. */
    public static InstalledPostgres start(Path directory, Map<String, String> environment) throws Exception {
        Path passwordFile = Files.writeString(directory.resolve("password"), PASSWORD);
        Path data = directory.resolve("data");
        run(
                "initdb",
                "--pgdata=" + data,
                "--username=annals",
                "--pwfile=" + passwordFile,
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync");
        return startIn(data, environment);
    }

    /** Copies this server while it runs, and starts the copy as a hot standby that follows it. */
    public InstalledPostgres startStandby(Path directory) throws Exception {
        Path copy = directory.resolve("standby");
        run(
                "pg_basebackup",
                "--dbname=" + libpq("postgres"),
                "--pgdata=" + copy,
                "--write-recovery-conf",
                "--checkpoint=fast",
                "--no-sync");
        return startIn(copy, environment);
    }

    private static InstalledPostgres startIn(Path data, Map<String, String> environment) throws Exception {
        InstalledPostgres server = new InstalledPostgres(data, Ports.free(), environment);
        server.start();
        return server;
    }

    /** Ends it as kill -9 does, with everything that it has not given to the operating system; and starts it again. */
    public void crash() throws Exception {
        kill();
        start();
    }

    /** Keeps its log in a directory, from now on and after each start, as point-in-time recovery needs it. */
    public void archiveTo(Path archive) throws Exception {
        Files.createDirectories(archive);
        Files.writeString(
                data.resolve("postgresql.auto.conf"),
                "archive_mode = on\narchive_command = 'cp %p " + archive + "/%f'\n",
                StandardOpenOption.APPEND);
        run("pg_ctl", "stop", "--pgdata=" + data, "--mode=fast", "--wait", "--silent");
        start();
    }

    /** Restarts it with more settings of the command line, such as {@code -c fsync=on}. */
    public void restart(String settings) throws Exception {
        options = settings;
        run("pg_ctl", "stop", "--pgdata=" + data, "--mode=fast", "--wait", "--silent");
        start();
    }

    /** Lets logins with a password in from other addresses of this machine. */
    public void acceptFromEverywhere() throws Exception {
        Files.writeString(data.resolve("pg_hba.conf"), "host all all all scram-sha-256\n", StandardOpenOption.APPEND);
        restart("-c listen_addresses=*");
    }

    /** Copies it while it runs. */
    public void backUp(Path backup) throws Exception {
        run("pg_basebackup", "--dbname=" + libpq("postgres"), "--pgdata=" + backup, "--checkpoint=fast", "--no-sync");
    }

    /** Copies its files while it does not run. */
    public void copyStopped(Path copy) throws Exception {
        run("pg_ctl", "stop", "--pgdata=" + data, "--mode=fast", "--wait", "--silent");
        copyTree(data, copy);
        start();
    }

    /** Ends it, and starts it on the same port with other files: a copy, or a backup with what recovers it. */
    public void replaceBy(Path copy, String... recovery) throws Exception {
        kill();
        Files.move(data, data.resolveSibling("replaced-" + System.nanoTime()));
        copyTree(copy, data);
        if (recovery.length > 0) {
            Files.createFile(data.resolve("recovery.signal"));
            Files.write(data.resolve("postgresql.auto.conf"), List.of(recovery), StandardOpenOption.APPEND);
        }
        start();
    }

    private static void copyTree(Path from, Path to) throws Exception {
        assertThat(new ProcessBuilder("cp", "-a", from.toString(), to.toString())
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Ends it as kill -9 does. */
    public void kill() throws Exception {
        // Stopped first: it starts no process in between that would be left.
        freeze();
        List<ProcessHandle> all = processes();
        all.forEach(ProcessHandle::destroyForcibly);
        for (ProcessHandle process : all) {
            process.onExit().get(30, TimeUnit.SECONDS);
        }
        killed = true;
    }

    /** Refuses new connections. Open ones stay. */
    public void refuseConnections() throws Exception {
        Path rules = data.resolve("pg_hba.conf");
        Files.writeString(rules, "host all all all reject\n" + Files.readString(rules));
        run("pg_ctl", "reload", "--pgdata=" + data, "--silent");
    }

    /** Freezes all processes: connections are accepted and never answered. */
    public void freeze() throws Exception {
        signal("STOP", List.of(postmaster()));
        // A process may start meanwhile.
        List<ProcessHandle> known = List.of();
        for (List<ProcessHandle> all = processes(); !all.equals(known); all = processes()) {
            signal("STOP", all);
            known = all;
        }
    }

    public void thaw() throws Exception {
        signal("CONT", processes());
    }

    private static void signal(String name, List<ProcessHandle> processes) throws Exception {
        List<String> command = new ArrayList<>(List.of("kill", "-" + name));
        processes.forEach(process -> command.add(Long.toString(process.pid())));
        // A backend may have ended in the meantime.
        new ProcessBuilder(command).start().waitFor();
    }

    private List<ProcessHandle> processes() throws IOException {
        ProcessHandle postmaster = postmaster();
        return Stream.concat(Stream.of(postmaster), postmaster.descendants()).toList();
    }

    private ProcessHandle postmaster() throws IOException {
        long id = Long.parseLong(
                Files.readAllLines(data.resolve("postmaster.pid")).get(0).strip());
        return ProcessHandle.of(id).orElseThrow();
    }

    /** Again, after {@link #kill}. */
    public void start() throws Exception {
        killed = false;
        run(
                environment,
                "pg_ctl",
                "start",
                "--pgdata=" + data,
                "--wait",
                "--silent",
                "--log=" + data.resolveSibling(data.getFileName() + ".log"),
                "--options=-p " + url.port()
                        + " -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off " + options);
    }

    /** The URL of a database for its owner, a superuser. */
    public DatabaseUrl url(String database) {
        return url.withDatabase(database);
    }

    /** The same for PostgreSQL's own programs. */
    public String libpq(String database) {
        return url.withDatabase(database).withPassword();
    }

    /** Runs one of PostgreSQL's programs, which has to succeed. */
    public static void run(String program, String... arguments) throws Exception {
        run(Map.of(), program, arguments);
    }

    private static void run(Map<String, String> environment, String program, String... arguments) throws Exception {
        Path output = Files.createTempFile("annals-" + program, ".log");
        int exitCode = exitCode(environment, output, program, arguments);
        assertThat(exitCode).as(() -> program + ": " + read(output)).isZero();
        Files.delete(output);
    }

    /** Runs one of PostgreSQL's programs, and returns its exit code. */
    public static int exitCode(String program, String... arguments) throws Exception {
        Path output = Files.createTempFile("annals-" + program, ".log");
        try {
            return exitCode(Map.of(), output, program, arguments);
        } finally {
            Files.delete(output);
        }
    }

    // Into a file: a server that pg_ctl starts keeps the output open.
    private static int exitCode(Map<String, String> environment, Path output, String program, String... arguments)
            throws Exception {
        List<String> command = new ArrayList<>();
        if (System.getProperty("user.name").equals("root")) {
            // As PostgresBinaries does it: PostgreSQL refuses to run as root.
            command.addAll(List.of("unshare", "--user"));
        }
        command.add(programs().resolve(program).toString());
        command.addAll(List.of(arguments));
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(Path.of("/").toFile());
        builder.redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("PG"));
        builder.environment().put("LC_ALL", "C");
        builder.environment().putAll(environment);
        return builder.start().waitFor();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static Path programs() throws IOException {
        Optional<Path> newest = Optional.empty();
        if (Files.isDirectory(VERSIONS)) {
            try (Stream<Path> versions = Files.list(VERSIONS)) {
                newest = versions.map(version -> version.resolve("bin"))
                        .filter(bin -> Files.isExecutable(bin.resolve("pg_basebackup"))
                                && Files.isExecutable(bin.resolve("initdb")))
                        .max(Comparator.comparing(Path::toString));
            }
        }
        need(newest.isPresent(), "PostgreSQL's server and client programs in " + VERSIONS);
        return newest.get();
    }

    @Override
    public void close() {
        if (killed) {
            return;
        }
        try {
            thaw();
            run("pg_ctl", "stop", "--pgdata=" + data, "--mode=immediate", "--wait", "--silent");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
