package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The packaged service with a database of its own, that can be stopped and started again on its port. */
public final class PackagedService implements AutoCloseable {

    private static final Pattern TOKEN = Pattern.compile("export ANNALS_TOKEN=(\\S+)");
    private static final Pattern ADMIN_TOKEN = Pattern.compile("export ANNALS_ADMIN_TOKEN=(\\S+)");

    private final Path data;
    private final List<String> javaOptions;
    private final Map<String, String> settings;
    private final String token;
    private final String adminToken;
    private volatile ServiceProcess process;

    /** Starts it with these options of the Java machine. */
    public PackagedService(Path data, String... javaOptions) throws IOException {
        this(data, Map.of(), javaOptions);
    }

    /** Starts it with these settings, too. */
    public PackagedService(Path data, Map<String, String> settings, String... javaOptions) throws IOException {
        this.data = data;
        this.settings = settings;
        this.javaOptions = List.of(javaOptions);
        TestDatabase.sharePrograms(data);
        process = start(Ports.free());
        // Only the first start writes them.
        Path file = data.resolve("first-tokens");
        try {
            Await.until("the first tokens are written", () -> Files.exists(file));
        } catch (Exception e) {
            close();
            throw new IOException(e);
        }
        String tokens = Files.readString(file);
        token = first(TOKEN, tokens);
        adminToken = first(ADMIN_TOKEN, tokens);
    }

    private static String first(Pattern pattern, String tokens) {
        Matcher written = pattern.matcher(tokens);
        assertThat(written.find()).as("the first tokens").isTrue();
        return written.group(1);
    }

    /** Starts it again, and waits until it listens. */
    public void restart() throws IOException {
        process = start(uri().getPort());
    }

    private ServiceProcess start(int port) throws IOException {
        Map<String, String> all = new HashMap<>(settings);
        all.put("ANNALS_DATA_DIR", data.toString());
        all.put("ANNALS_PORT", Integer.toString(port));
        return ServiceProcess.start(ServiceProcess.command(javaOptions), all).awaitListening();
    }

    /** As {@code kill -9}. */
    public void kill() {
        process.close();
    }

    /** As {@code kill}: it stops its database, too. */
    public void terminate() throws InterruptedException {
        process.process().destroy();
        process.awaitEnd();
    }

    public boolean isAlive() {
        return process.process().isAlive();
    }

    /** The lines printed since the last start. */
    public List<String> output() {
        return List.copyOf(process.output);
    }

    public long pid() {
        return process.process().pid();
    }

    /** Its database, as the schema's owner. */
    public DatabaseUrl database() throws IOException {
        return DatabaseUrl.parse(Files.readString(data.resolve("database-url")).strip());
    }

    public URI uri() {
        return process.uri("");
    }

    /** The token of the project {@code default}. */
    public String token() {
        return token;
    }

    public String adminToken() {
        return adminToken;
    }

    /** Makes a project, and a token for it that may do everything. */
    public AuditLogFixture.Project newProject() throws IOException, InterruptedException {
        return newProject("read", "write", "sequence");
    }

    /** Makes a project, and a token for it with these scopes. */
    public AuditLogFixture.Project newProject(String... scopes) throws IOException, InterruptedException {
        return process.newProject(adminToken, scopes);
    }

    /** The same project with another token, which has these scopes. */
    public AuditLogFixture.Project token(AuditLogFixture.Project project, String... scopes)
            throws IOException, InterruptedException {
        return process.newToken(adminToken, project.id(), scopes);
    }

    /** Copies the database of a directory, which does not run, without its keys. */
    public static void copyDatabase(Path from, Path to) throws IOException, InterruptedException {
        Files.createDirectories(to);
        assertThat(new ProcessBuilder(
                                "cp",
                                "-a",
                                from.resolve("postgresql").toString(),
                                from.resolve("database-url").toString(),
                                to.toString())
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Copies a copy back, so that PostgreSQL begins a timeline. */
    public static void restoreDatabase(Path copy, Path to) throws IOException, InterruptedException {
        TestDatabase.sharePrograms(to);
        copyDatabase(copy, to);
        Files.createFile(to.resolve("postgresql/recovery.signal"));
        Files.writeString(
                to.resolve("postgresql/postgresql.auto.conf"),
                "restore_command = 'false'\n",
                StandardOpenOption.APPEND);
    }

    /** A command line of the client, with this service and its token in its environment. */
    public ProcessBuilder client(String... arguments) throws IOException {
        ProcessBuilder builder = ServiceProcess.command(List.of(), arguments);
        builder.environment().put("ANNALS_URL", uri().toString());
        builder.environment().put("ANNALS_TOKEN", token);
        return builder;
    }

    @Override
    public void close() {
        try {
            terminate();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            kill();
        }
    }
}
