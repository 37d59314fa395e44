package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.InstalledPostgres;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Under load, the database crashes, or is restored. Clients are told to come again, and the log says it once. */
@Slow
@Order(4)
@Timeout(300)
class DatabaseOutageIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String FEED = "/v1/project-logs";
    private static final int CLIENTS = 24;
    private static final int CRASHES = 2;
    /** A client's pause after each answer: some hundred requests per second are far more than the log may have lines. */
    private static final int PAUSE_MILLIS = 20;
    /** The most lines of warnings and errors for all outages together, for any number of failed requests. */
    private static final int LINES = 60;

    @TempDir
    Path directory;

    private final HttpClient http = HttpClient.newHttpClient();
    private final Map<Integer, AtomicInteger> answers = new ConcurrentHashMap<>();
    private final Map<Integer, String> examples = new ConcurrentHashMap<>();
    private InstalledPostgres server;
    private ServiceProcess service;
    private Project project;
    private volatile boolean stopped;

    @BeforeEach
    void startBoth() throws Exception {
        server = InstalledPostgres.start(directory);
        SqlFixture.on(server.url("postgres")).runEach("create database annals");
        service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        server.url("annals").withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        ADMIN,
                        // Requests fail while the database is away, instead of waiting for it.
                        "ANNALS_APPEND_RETRIES",
                        "1",
                        "ANNALS_DATABASE_POOL_WAIT",
                        "1s"))
                .awaitListening();
        project = service.newProject(ADMIN, "read", "write");
    }

    @AfterEach
    void stopBoth() {
        stopped = true;
        if (service != null) {
            service.close();
        }
        if (server != null) {
            server.close();
        }
    }

    @Test
    void crashesAreAFewLinesInTheLogHoweverManyRequestsFail() throws Exception {
        run(() -> {
            for (int crash = 0; crash < CRASHES; crash++) {
                server.crash();
                awaitAppends();
            }
        });
        assertAnswers();
        assertLog();
    }

    @Test
    @TakesLong
    void aRestoreIsAnsweredWith503() throws Exception {
        Path dump = directory.resolve("annals.dump");
        run(() -> {
            InstalledPostgres.run("pg_dump", "--format=custom", "--file=" + dump, "--dbname=" + server.libpq("annals"));
            SqlFixture.on(server.url("postgres")).runEach("drop database annals with (force)");
            awaitFailures();
            SqlFixture.on(server.url("postgres")).runEach("create database annals");
            awaitFailures();
            InstalledPostgres.run("pg_restore", "--dbname=" + server.libpq("annals"), dump.toString());
            awaitAppends();
        });
        assertAnswers();
        assertLog();
    }

    private interface Fault {
        void happen() throws Exception;
    }

    private void run(Fault fault) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
        List<Future<?>> clients = new ArrayList<>();
        for (int client = 0; client < CLIENTS; client++) {
            boolean writes = client % 2 == 0;
            clients.add(threads.submit(() -> {
                while (!stopped) {
                    HttpResponse<String> answer = http.send(
                            writes ? append() : read("?order=desc&limit=5"), HttpResponse.BodyHandlers.ofString());
                    answers.computeIfAbsent(answer.statusCode(), status -> new AtomicInteger())
                            .incrementAndGet();
                    examples.putIfAbsent(answer.statusCode(), answer.body());
                    TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
                }
                return null;
            }));
        }
        try {
            awaitAppends();
            fault.happen();
            assertThat(count(503)).as("the fault was felt").isPositive();
        } finally {
            stopped = true;
        }
        for (Future<?> client : clients) {
            client.get();
        }
        threads.shutdown();
    }

    private HttpRequest append() {
        return request(FEED)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"))
                .build();
    }

    private HttpRequest read(String query) {
        return request(FEED + query).build();
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(service.uri(path)).header("Authorization", "Bearer " + project.token());
    }

    private int count(int status) {
        AtomicInteger count = answers.get(status);
        return count == null ? 0 : count.get();
    }

    private void awaitAppends() throws Exception {
        int before = count(201);
        Await.until("appends are taken", () -> count(201) > before + 100);
    }

    private void awaitFailures() throws Exception {
        int before = count(503) + count(500);
        Await.until("requests fail", () -> count(503) + count(500) > before + 100);
    }

    private void assertAnswers() {
        List<String> unexpected = service.output.stream()
                .filter(line -> line.contains("urn:uuid:"))
                .limit(3)
                .toList();
        assertThat(answers.keySet()).as("%s %s", examples, unexpected).isSubsetOf(200, 201, 503);
    }

    private void assertLog() {
        List<String> said = List.copyOf(service.output);
        List<String> warnings = said.stream()
                .filter(line -> line.contains(" WARN ") || line.contains(" ERROR "))
                .toList();
        assertThat(warnings).as("of %d lines", said.size()).hasSizeLessThan(LINES);
        assertThat(said.stream().filter(line -> line.startsWith("\tat "))).isEmpty();
    }
}
