package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.BreakablePath;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.survival.StepGate.Step;
import dev.annals.tools.embedded.TestServer;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;

/** Two instances of the service on three databases. Each database has a server, and each instance a path to it, of its own. */
final class ManyDatabases implements AutoCloseable {

    static final String HOME = "main";
    static final List<String> NAMES = List.of(HOME, "east", "west");
    private static final int INSTANCES = 2;

    private final Map<String, TestServer> servers = new LinkedHashMap<>();
    /** One map for each instance, by the names of databases. */
    private final List<Map<String, BreakablePath>> paths = new ArrayList<>();

    private final List<Map<String, String>> settings = new ArrayList<>();
    private final Instances instances;

    private ManyDatabases() throws Exception {
        NAMES.parallelStream().forEach(this::startServer);
        for (int i = 0; i < INSTANCES; i++) {
            Map<String, BreakablePath> own = new HashMap<>();
            for (String name : NAMES) {
                own.put(name, new BreakablePath(servers.get(name).url().port()));
            }
            paths.add(own);
            settings.add(settings(own));
        }
        instances = Instances.start(settings);
        for (int i = 0; i < INSTANCES; i++) {
            awaitUsed(i);
        }
        for (String name : NAMES) {
            StepGate.install(servers.get(name).url());
        }
    }

    static ManyDatabases start() throws Exception {
        return new ManyDatabases();
    }

    private void startServer(String name) {
        try {
            TestServer server = TestServer.start();
            synchronized (servers) {
                servers.put(name, server);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private Map<String, String> settings(Map<String, BreakablePath> own) {
        Map<String, String> settings = new HashMap<>();
        settings.put("ANNALS_DATABASES", String.join(",", NAMES));
        for (String name : NAMES) {
            settings.put(
                    name.equals(HOME)
                            ? "ANNALS_DATABASE_URL"
                            : "ANNALS_DATABASES_" + name.toUpperCase(Locale.ROOT) + "_URL",
                    own.get(name).url(servers.get(name).url()).withPassword());
            if (!name.equals(HOME)) {
                settings.put("ANNALS_DATABASES_" + name.toUpperCase(Locale.ROOT) + "_TRUSTED", "true");
            }
        }
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY);
        settings.put("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1");
        return settings;
    }

    private void awaitUsed(int instance) throws Exception {
        HttpRequest health = HttpRequest.newBuilder(instances.get(instance).managementUri("/q/health"))
                .build();
        HttpClient http = HttpClient.newHttpClient();
        for (String name : NAMES.subList(1, NAMES.size())) {
            Await.until(
                    name + " is used",
                    () -> http.send(health, BodyHandlers.ofString())
                            .body()
                            .contains("\"" + name + "\": \"reads and writes\""));
        }
    }

    Instances instances() {
        return instances;
    }

    TestServer server(String name) {
        return servers.get(name);
    }

    BreakablePath path(int instance, String name) {
        return paths.get(instance).get(name);
    }

    SqlFixture of(String name) {
        return SqlFixture.on(servers.get(name).url());
    }

    boolean answers(String name) {
        try (Connection connection = servers.get(name).url().connect()) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    /** Past the paths. */
    Connection connect(String name, String role) throws SQLException {
        Connection connection = servers.get(name).url().connect();
        SqlFixture.execute(connection, "set role " + role);
        return connection;
    }

    /** Runs a command of the packaged program with the settings of the first instance, and more. Returns what it prints. */
    List<String> command(Map<String, String> more, String... arguments) throws Exception {
        Map<String, String> all = new HashMap<>(settings.get(0));
        all.putAll(more);
        try (ServiceProcess command = ServiceProcess.start(all, arguments)) {
            int exitCode = command.awaitEnd();
            assertThat(exitCode).as(String.join("\n", command.output)).isZero();
            return List.copyOf(command.output);
        }
    }

    /** The newest lines of the instances' logs. */
    String printed() {
        StringBuilder printed = new StringBuilder();
        for (int i = 0; i < INSTANCES; i++) {
            List<String> lines = instances.get(i).output.stream()
                    .filter(line -> !line.contains(" INFO "))
                    .toList();
            printed.append("instance ").append(i).append(":\n");
            lines.subList(Math.max(0, lines.size() - 60), lines.size())
                    .forEach(line -> printed.append(line).append('\n'));
        }
        return printed.toString();
    }

    /** The placement of each moved project in each database, and the moves. */
    String places() throws SQLException {
        StringBuilder places = new StringBuilder();
        for (String name : NAMES) {
            places.append(name)
                    .append(": ")
                    .append(of(name).texts(
                                    "select concat_ws(' ', placement, placement_epoch, moved_to, is_moving, (select count(*) from"
                                            + " annals.feed_segment as s where s.project_id = p.id)) from annals.project as p where"
                                            + " placement_epoch > 0"))
                    .append('\n');
        }
        return places.append(of(HOME).texts(
                                "select concat_ws(' ', epoch, source, target, state, last_error) from annals.move order by"
                                        + " started_at"))
                .toString();
    }

    // --- Moves ---

    /** Lets another instance go on with the move at once. */
    void endLease() throws SQLException {
        of(HOME).run("update annals.move set leased_until = clock_timestamp() where ended_at is null");
    }

    /** Removes what a project has left in a database. */
    void removeLeft(UUID project, String name) throws SQLException {
        of(name).removeLeft(project);
    }

    /** Stops movers before they commit a step, until it is closed. */
    StepGate shut(Step step, String source, String target) throws SQLException {
        return new StepGate(step, servers.get(step.of(source, target)).url());
    }

    /** Waits for a mover at a gate, and returns the number of its instance. */
    int awaitMover(StepGate gate, Step step, String source, String target) throws Exception {
        for (StepGate.Waiting mover : gate.awaitMover(this::places)) {
            for (int i = 0; i < INSTANCES; i++) {
                if (path(i, step.of(source, target)).hasClientPort(mover.port())) {
                    return i;
                }
            }
        }
        throw new AssertionError("no instance has the mover at " + step + "\n" + places());
    }

    @Override
    public void close() throws IOException {
        if (instances != null) {
            instances.close();
        }
        for (Map<String, BreakablePath> own : paths) {
            for (BreakablePath path : own.values()) {
                path.close();
            }
        }
        servers.values().forEach(TestServer::close);
    }
}
