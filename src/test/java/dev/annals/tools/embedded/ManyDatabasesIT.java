package dev.annals.tools.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * One instance has a hundred databases, {@code -Dtests.databases} or another number: 99 on one server, and one on a server that freezes.
 * Prints what they cost.
 */
@TakesLong
@Timeout(1_800)
class ManyDatabasesIT {

    private static final int DATABASES = Integer.getInteger("tests.databases", 100);
    private static final String FROZEN = "frozen";
    private static final String FLOODED = "db1";
    private static final int USED = 4;
    private static final int SAMPLES = 200;
    private static final int ROUNDS = 3;
    private static final int CLIENTS = 8;
    private static final int LIMIT = 100;
    private static final int TOO_MANY = 429;
    private static final long AFTER_LIMIT_MILLIS = 1_000;
    private static final int IDLE_SECONDS = 30;
    private static final int MOST_IDLE_CONNECTIONS = 3;
    private static final double TICKS_PER_SECOND = 100;

    private static final String ADMIN = "administrator-of-many-databases";
    private static final String LOGS = "/v1/project-logs";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private final List<EmbeddedDatabase> servers = new ArrayList<>();
    private final List<Path> directories = new ArrayList<>();
    private final Map<String, String> settings = new HashMap<>(Map.of("ANNALS_ADMIN_TOKEN", ADMIN));
    private final Map<String, String> tokens = new HashMap<>();
    private ServiceProcess service;
    private final AtomicInteger loaded = new AtomicInteger();
    private volatile boolean ended;

    private EmbeddedDatabase startServer() throws Exception {
        Files.createDirectories(TestDatabase.BINARIES);
        Path directory = TestDatabase.newDirectory();
        directories.add(directory);
        EmbeddedDatabase first = EmbeddedDatabase.start(directory, TestDatabase.BINARIES, Set.of());
        execute(first.url(), "alter system set max_connections = " + (4 * DATABASES + 50));
        first.close();
        EmbeddedDatabase server = EmbeddedDatabase.start(directory, TestDatabase.BINARIES, Set.of());
        servers.add(server);
        return server;
    }

    @AfterEach
    void stop() throws Exception {
        ended = true;
        if (service != null) {
            service.close();
        }
        if (servers.size() == 2) {
            signal("CONT");
        }
        servers.forEach(EmbeddedDatabase::close);
        directories.forEach(TestDatabase::deleteTree);
    }

    @Test
    void idleDatabasesCostLittleAndAFrozenOrFloodedOneTheOthersNothing() throws Exception {
        DatabaseUrl many = startServer().url();
        List<String> names = new ArrayList<>(List.of("main"));
        settings.put("ANNALS_DATABASE_URL", many.withPassword());
        for (int i = 1; i < DATABASES - 1; i++) {
            name(names, "db" + i, many.withDatabase("db" + i));
            execute(many, "create database db" + i);
        }
        name(names, FROZEN, startServer().url());
        settings.put("ANNALS_DATABASES", String.join(",", names));

        for (String when : List.of("from empty", "when current")) {
            long began = System.nanoTime();
            double spent = processor();
            try (ServiceProcess migrate = ServiceProcess.start(settings, "migrate")) {
                migrate.readToTheEnd();
                assertThat(migrate.awaitEnd())
                        .as(String.join("\n", migrate.output))
                        .isZero();
                say(
                        "migrate of %d databases %s: %.1f s, %.1f s of processor time of the servers, %d lines",
                        DATABASES, when, seconds(began), processor() - spent, migrate.output.size());
            }
        }
        long began = System.nanoTime();
        service = ServiceProcess.start(settings).awaitListening();
        double listening = seconds(began);
        Await.until("all databases are used", () -> used() == DATABASES);
        say(
                "start: listens after %.1f s, uses all databases after %.1f s, %d lines",
                listening, seconds(began), service.output.size());

        List<String> others = new ArrayList<>();
        for (int i = 0; i <= USED; i++) {
            String database = names.get(i * (names.size() - 2) / USED);
            createProject(database);
            if (!database.equals(FLOODED)) {
                others.add(database);
            }
        }
        createProject(FLOODED);
        createProject(FROZEN);
        measureIdle(many);

        measure("alone, to warm up", others);
        for (int i = 0; i < ROUNDS; i++) {
            measure("alone", others);
            Thread[] flood = load(FLOODED);
            int before = loaded.get();
            measure("one database flooded", others);
            say("appends of the flood: %d", loaded.get() - before);
            end(flood);
            flood = load(FROZEN);
            measure("one database in a server of its own flooded", others);
            end(flood);
            limit(FLOODED, LIMIT);
            flood = load(FLOODED);
            measure("one database flooded, whose project has a limit", others);
            end(flood);
            limit(FLOODED, null);
        }
        measure("alone", others);
        signal("STOP");
        Thread[] waiting = load(FROZEN);
        measure("one database frozen", others);
        measure("one database frozen", others);
        signal("CONT");
        end(waiting);
        Await.until("the frozen database is used again", () -> append(FROZEN) == 201);
    }

    private void name(List<String> names, String name, DatabaseUrl url) {
        names.add(name);
        settings.put("ANNALS_DATABASES_" + name.toUpperCase(Locale.ROOT) + "_URL", url.withPassword());
    }

    private int used() throws IOException, InterruptedException {
        HttpResponse<String> health = HTTP.send(
                HttpRequest.newBuilder(service.managementUri("/q/health/ready")).build(),
                HttpResponse.BodyHandlers.ofString());
        return health.body().split("\"reads and writes\"", -1).length - 1;
    }

    private void measureIdle(DatabaseUrl many) throws Exception {
        // Retention first looks after a minute, and connections without use stay open for another one.
        Thread.sleep(125_000);
        double instance = processor(service.process().toHandle());
        double databases = processor();
        long statements = statements(many);
        Thread.sleep(IDLE_SECONDS * 1_000L);
        double each = DATABASES - 1;
        say(
                "idle, each database: %.2f ms/s of the instance, %.2f ms/s of the servers, %.1f transactions/s",
                (processor(service.process().toHandle()) - instance) * 1_000 / IDLE_SECONDS / each,
                (processor() - databases) * 1_000 / IDLE_SECONDS / each,
                (statements(many) - statements) / each / IDLE_SECONDS);
        List<Long> connections = numbers(
                many,
                "select count(*) from pg_stat_activity where datname ~ '^db' and backend_type = 'client backend' group by datname"
                        + " order by 1");
        say(
                "idle, connections of %d databases: median %d, most %d",
                connections.size(), median(connections), last(connections));
        assertThat(last(connections)).isLessThanOrEqualTo(MOST_IDLE_CONNECTIONS);
    }

    private static <T> T last(List<T> list) {
        return list.get(list.size() - 1);
    }

    private static <T extends Comparable<T>> T median(List<T> list) {
        return list.stream().sorted().toList().get(list.size() / 2);
    }

    private void measure(String when, List<String> databases) throws Exception {
        List<Double> appends = new ArrayList<>();
        List<Double> pages = new ArrayList<>();
        double spent = processor() + processor(service.process().toHandle());
        long all = System.nanoTime();
        for (int i = 0; i < SAMPLES; i++) {
            String database = databases.get(i % databases.size());
            long began = System.nanoTime();
            assertThat(append(database)).isEqualTo(201);
            appends.add(seconds(began) * 1_000);
            began = System.nanoTime();
            assertThat(send("GET", tokens.get(database), LOGS + "?limit=100", null)
                            .statusCode())
                    .isEqualTo(200);
            pages.add(seconds(began) * 1_000);
        }
        say(
                "%s: append %.1f ms, page %.1f ms (medians of %d); %.2f cores used",
                when,
                median(appends),
                median(pages),
                SAMPLES,
                (processor() + processor(service.process().toHandle()) - spent) / seconds(all));
    }

    private Thread[] load(String database) {
        ended = false;
        Thread[] clients = new Thread[CLIENTS];
        Arrays.setAll(
                clients,
                i -> new Thread(() -> {
                    try {
                        while (!ended) {
                            if (append(database) == TOO_MANY) {
                                Thread.sleep(AFTER_LIMIT_MILLIS);
                            }
                            loaded.incrementAndGet();
                        }
                    } catch (IOException | InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }));
        for (Thread client : clients) {
            client.start();
        }
        return clients;
    }

    private void end(Thread[] clients) throws InterruptedException {
        ended = true;
        for (Thread client : clients) {
            client.join();
        }
    }

    private void createProject(String database) throws IOException, InterruptedException {
        String name = "in " + database;
        assertThat(send(
                                "POST",
                                ADMIN,
                                "/v1/projects",
                                "{\"name\": \"" + name + "\", \"database\": \"" + database + "\"}")
                        .statusCode())
                .isIn(201, 409);
        HttpResponse<String> token = send(
                "POST",
                ADMIN,
                "/v1/projects/" + name.replace(" ", "%20") + "/tokens",
                "{\"scopes\": [\"read\", \"write\"]}");
        assertThat(token.statusCode()).as(token.body()).isEqualTo(201);
        tokens.put(database, JSON.readTree(token.body()).path("token").asText());
    }

    /** @param requests each second; null for no limit */
    private void limit(String database, @Nullable Integer requests) throws Exception {
        String limits = requests == null ? "{}" : "{\"requests_per_second\": " + requests + "}";
        HttpResponse<String> changed = send("PUT", ADMIN, "/v1/projects/in%20" + database + "/limits", limits);
        assertThat(changed.statusCode()).as(changed.body()).isEqualTo(200);
        // Instances know of a change within 5 seconds.
        Thread.sleep(5_000);
    }

    private int append(String database) throws IOException, InterruptedException {
        return send("POST", tokens.get(database), LOGS, "{\"action\": \"invoice.create\"}")
                .statusCode();
    }

    private HttpResponse<String> send(String method, String token, String path, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(service.uri(path))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .method(
                        method,
                        body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body));
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static double seconds(long began) {
        return (System.nanoTime() - began) / 1e9;
    }

    private static void say(String text, Object... arguments) {
        System.out.printf(text + "%n", arguments);
    }

    /** Seconds of both servers. */
    private double processor() throws IOException {
        double all = 0;
        for (int i = 0; i < servers.size(); i++) {
            ProcessHandle postmaster = postmaster(i);
            for (ProcessHandle process : Stream.concat(Stream.of(postmaster), postmaster.descendants())
                    .toList()) {
                all += processor(process);
            }
        }
        return all;
    }

    /** Seconds of a process, and of its children that have ended. */
    private static double processor(ProcessHandle process) {
        try {
            String line = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
            String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ");
            return Stream.of(11, 12, 13, 14)
                            .mapToLong(field -> Long.parseLong(fields[field]))
                            .sum()
                    / TICKS_PER_SECOND;
        } catch (IOException e) {
            return 0; // it has ended
        }
    }

    private static long statements(DatabaseUrl url) throws SQLException {
        return numbers(
                        url,
                        "select sum(xact_commit + xact_rollback) from pg_stat_database where datname ~ '^(db|annals)'")
                .get(0);
    }

    private ProcessHandle postmaster(int server) throws IOException {
        Path file = directories.get(server).resolve("postgresql/postmaster.pid");
        return ProcessHandle.of(Long.parseLong(Files.readAllLines(file).get(0).strip()))
                .orElseThrow();
    }

    /** To all processes of the last server. */
    private void signal(String name) throws IOException, InterruptedException {
        ProcessHandle postmaster = postmaster(1);
        List<String> line = new ArrayList<>(List.of("kill", "-" + name));
        Stream.concat(Stream.of(postmaster), postmaster.descendants())
                .forEach(process -> line.add(Long.toString(process.pid())));
        new ProcessBuilder(line).inheritIO().start().waitFor();
    }

    private static List<Long> numbers(DatabaseUrl url, String sql) throws SQLException {
        List<Long> numbers = new ArrayList<>();
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                numbers.add(rows.getLong(1));
            }
        }
        return numbers;
    }

    private static void execute(DatabaseUrl url, String sql) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
