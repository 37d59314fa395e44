package dev.annals.access.requests;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The packaged service's log and metrics of requests. */
@Timeout(180)
class RequestLogIT {

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String RECORD = "{\"action\": \"open\", \"message\": \"content of a record\"}";

    private final HttpClient client = HttpClient.newHttpClient();
    private ServiceProcess service;
    private Project project;

    private DatabaseUrl database;

    private void start(String format) throws Exception {
        database = TestDatabase.createDatabase();
        service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        database.withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        AuditLogFixture.ADMIN_TOKEN,
                        "ANNALS_LOGGING_FORMAT",
                        format,
                        "ANNALS_LOGGING_REQUESTS",
                        "true",
                        "ANNALS_NO_SUCH_SETTING",
                        "\u009b\""))
                .awaitListening();
        project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "write");
    }

    @AfterEach
    void stop() {
        service.close();
    }

    @Test
    void everyLineFromTheStartToTheStopIsAJsonObject() throws Exception {
        start("json");
        assertThat(get("/made-up/\u00e9")).isEqualTo(404);
        SqlFixture.on(database)
                .runEach(
                        "create function annals.fail() returns trigger language plpgsql as"
                                + " $$ begin raise exception 'broken \u009b\u0085' using errcode = 'XX000'; end $$",
                        "create trigger fail before insert on annals.audit_record"
                                + " for each row execute function annals.fail()");
        assertThat(status(append().header("traceparent", "00-" + TRACE + "-00f067aa0ba902b7-01")
                        .build()))
                .isEqualTo(500);
        line("appendProjectLog");
        service.process().toHandle().destroy(); // leaves its output open
        assertThat(service.awaitEnd()).isEqualTo(143);

        assertThat(service.output).allMatch(line -> line.chars().allMatch(c -> c >= ' ' && c <= '~'));
        assertThat(lines()).allMatch(line -> line.has("timestamp") && line.has("level") && line.has("message"));
        assertThat(lines()).extracting(line -> line.get("level").asText()).contains("INFO", "WARN", "ERROR");
        assertThat(lines())
                .anyMatch(line -> line.path("stackTrace").asText().contains("\n\tat ")
                        && line.path("trace").asText().equals(TRACE))
                .anyMatch(line -> line.get("message").asText().startsWith("The variable ANNALS_NO_SUCH_SETTING is no"))
                .anyMatch(line -> line.get("message").asText().startsWith("annals stopped"));
    }

    @Test
    void aStartThatFailsSaysSoInTheChosenFormat() throws Exception {
        service = ServiceProcess.start(Map.of(
                "ANNALS_DATABASE_URL",
                TestDatabase.createDatabase().withPassword(),
                "ANNALS_DATABASE_MIGRATE_AT_START",
                "false",
                "ANNALS_LOGGING_FORMAT",
                "json"));
        assertThat(service.awaitEnd()).isEqualTo(1);

        assertThat(lines())
                .anyMatch(line -> line.get("message").asText().startsWith("The service stops: The database's schema"));
    }

    @Test
    void aStartThatFailsBeforeTheLogExistsSaysSoInTheChosenFormat() throws Exception {
        service = ServiceProcess.start(Map.of("ANNALS_APPEND_WRITERS", "many", "ANNALS_LOGGING_FORMAT", "json"));
        assertThat(service.awaitEnd()).isEqualTo(1);

        assertThat(lines())
                .singleElement()
                .satisfies(line -> assertThat(line.get("message").asText()).contains("ANNALS_APPEND_WRITERS"));
    }

    @Test
    void theServicesOwnDatabaseWritesNoLineOfItsOwn(@TempDir Path data) throws Exception {
        service = ServiceProcess.start(Map.of(
                        "ANNALS_DATA_DIR", data.resolve("data").toString(),
                        "ANNALS_LOGGING_FORMAT", "json",
                        "ANNALS_LOGGING_REQUESTS", "true"))
                .awaitListening();
        assertThat(get("/made-up")).isEqualTo(404);
        service.process().toHandle().destroy();
        assertThat(service.awaitEnd()).isEqualTo(143);

        assertThat(lines())
                .allMatch(line -> line.has("timestamp") && line.has("level") && line.has("message"))
                .anyMatch(line -> line.get("message").asText().startsWith("The embedded PostgreSQL runs"))
                .anyMatch(line -> line.path("operation").asText().equals("other"));
    }

    @Test
    void inTextARequestIsALineOfNamesAndValues() throws Exception {
        start("text");
        assertThat(status(append().build())).isEqualTo(201);
        service.process().toHandle().destroy(); // leaves its output open
        service.awaitEnd();

        assertThat(service.output)
                .noneMatch(line -> line.startsWith("{"))
                .filteredOn(line -> line.contains("operation=appendProjectLog"))
                .singleElement()
                .asString()
                .matches("20\\S+ INFO +\\[\\S+\\] \\(.*\\) trace=[0-9a-f]{32} method=POST operation=appendProjectLog"
                        + " path=/v1/project-logs status=201 outcome=success project=" + project.id()
                        + " token=\\S{36} address=127.0.0.1 agent=\\S+ ms=[0-9.]+ received=" + RECORD.length()
                        + " sent=[0-9]+");
    }

    @Test
    void withStandardOutputClosedLinesAreCountedAndRequestsAnswered() throws Exception {
        start("json");
        service.process().getInputStream().close();

        Await.until("a line is missing", () -> {
            assertThat(get("/made-up")).isEqualTo(404);
            return !metrics().contains("annals_requests_log_dropped_total 0.0");
        });
    }

    @Test
    void eachRequestHasOneLineThatSaysWhoDidWhatAndHowItEnded() throws Exception {
        start("json");
        HttpRequest append = append().header("traceparent", "00-" + TRACE + "-00f067aa0ba902b7-01")
                .header("User-Agent", "shop/1.0")
                .build();
        assertThat(status(append)).isEqualTo(201);
        JsonNode line = line("appendProjectLog");
        assertThat(line.get("trace").asText()).isEqualTo(TRACE);
        assertThat(line.get("parent").asText()).isEqualTo("00f067aa0ba902b7");
        assertThat(line.get("project").asText()).isEqualTo(project.id().toString());
        assertThat(line.get("token").asText()).hasSize(36);
        assertThat(line.get("status").asInt()).isEqualTo(201);
        assertThat(line.get("outcome").asText()).isEqualTo("success");
        assertThat(line.get("agent").asText()).isEqualTo("shop/1.0");
        assertThat(line.get("received").asInt()).isEqualTo(RECORD.length());
        assertThat(line.get("sent").asInt()).isPositive();
        assertThat(line.get("ms").isNumber()).isTrue();
        assertThat(line.has("cause")).isFalse();

        assertThat(status(request("/v1/project-logs?actor=jane").build())).isEqualTo(403);
        JsonNode refused = line("listProjectLogs");
        assertThat(refused.get("outcome").asText()).isEqualTo("refused");
        assertThat(refused.get("cause").asText()).isEqualTo("forbidden");
        assertThat(refused.get("project").asText()).isEqualTo(project.id().toString());

        assertThat(status(HttpRequest.newBuilder(service.uri("/v1/project-logs/statistics"))
                        .header("Authorization", "Bearer annals_" + "s".repeat(43))
                        .build()))
                .isEqualTo(401);
        JsonNode unknown = line("countProjectLogs");
        assertThat(unknown.get("cause").asText()).isEqualTo("unauthorized");
        assertThat(unknown.has("project")).isFalse();
        assertThat(unknown.get("trace").asText()).matches("[0-9a-f]{32}");
        get("/q/health/ready");
        get("/q/openapi?made-up");
        get("/made-up");
        Await.until("the last line is there", () -> requests().size() == 7);

        assertThat(requests().get(6).get("path").asText())
                .isEqualTo("/made-up"); // the first two make the project and its token
        assertThat(String.join("\n", service.output))
                .doesNotContain(project.token(), AuditLogFixture.ADMIN_TOKEN, "sssss", "content of a record", "jane");
        assertThat(metrics())
                .contains("annals_refusals_total{cause=\"forbidden\"} 1.0")
                .contains("annals_refusals_total{cause=\"unauthorized\"} 1.0")
                .contains("annals_refusals_total{cause=\"not-found\"} 1.0")
                .contains("annals_appended_records_total{via=\"one\"} 1.0")
                .contains("annals_appended_bytes_total{via=\"one\"} " + RECORD.length() + ".0")
                .contains("annals_requests_log_dropped_total 0.0")
                .containsPattern("http_server_requests_seconds_bucket\\{[^}]*uri=\"/v1/project-logs\",le=\"0.25\"\\}");
    }

    @Test
    void hostileRequestsMakeNoLineOfTheirOwn() throws Exception {
        start("json");
        for (String hostile : List.of(
                "GET /\u001b[2J%0aFAKE HTTP/1.1\r\nHost: x\r\nUser-Agent: \u009b\"} {\"status\": 200\r\n",
                "GET /" + "a".repeat(50_000) + " HTTP/1.1\r\nHost: x\r\n",
                "M" + "X".repeat(3_000) + " / HTTP/1.1\r\nHost: x\r\n")) {
            try (Socket socket =
                    new Socket(InetAddress.getLoopbackAddress(), service.uri("").getPort())) {
                socket.getOutputStream().write((hostile + "Connection: close\r\n\r\n").getBytes(ISO_8859_1));
                socket.getInputStream().readAllBytes();
            }
        }
        get("/the-last");
        Await.until(
                "the last line is there", () -> service.output.stream().anyMatch(line -> line.contains("/the-last")));

        for (JsonNode line : requests()) {
            assertThat(line.toString().length()).isLessThan(2_000);
            assertThat(line.get("path").asText().length()).isLessThan(300);
        }
        assertThat(service.output)
                .allMatch(line -> line.startsWith("{") && line.chars().allMatch(c -> c >= ' ' && c <= '~'));
    }

    @Test
    void appendsAreCountedByTheirWayIn() throws Exception {
        start("json");
        for (String way : List.of("batch", "import")) {
            String body = way.equals("batch")
                    ? "{\"records\": [" + RECORD + ", " + RECORD + "]}"
                    : RECORD + "\n" + RECORD + "\n" + RECORD + "\n";
            HttpRequest append = request("/v1/project-logs/" + way)
                    .header("Content-Type", way.equals("batch") ? "application/json" : "application/x-ndjson")
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            assertThat(status(append)).isBetween(200, 201);
        }

        assertThat(metrics())
                .contains("annals_appended_records_total{via=\"batch\"} 2.0")
                .contains("annals_appended_records_total{via=\"import\"} 3.0")
                .contains("annals_appended_bytes_total{via=\"import\"} " + 3 * RECORD.length() + ".0");
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(service.uri(path)).header("Authorization", "Bearer " + project.token());
    }

    private int status(HttpRequest request) throws Exception {
        return client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    }

    private HttpRequest.Builder append() {
        return request("/v1/project-logs")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(RECORD));
    }

    private int get(String path) throws Exception {
        return status(HttpRequest.newBuilder(service.uri(path)).build());
    }

    private String metrics() throws Exception {
        URI metrics = service.managementUri("/q/metrics");
        return client.send(HttpRequest.newBuilder(metrics).build(), HttpResponse.BodyHandlers.ofString())
                .body();
    }

    private JsonNode line(String operation) throws Exception {
        Await.until(
                "a line for " + operation,
                () -> service.output.stream().anyMatch(line -> line.contains("\"operation\":\"" + operation + '"')));
        List<JsonNode> found = requests().stream()
                .filter(line -> line.get("operation").asText().equals(operation))
                .toList();
        assertThat(found).hasSize(1);
        return found.get(0);
    }

    private List<JsonNode> requests() throws Exception {
        return lines().stream().filter(line -> line.has("operation")).toList();
    }

    private List<JsonNode> lines() throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<JsonNode> lines = new ArrayList<>();
        for (String line : List.copyOf(service.output)) {
            assertThat(line).startsWith("{");
            lines.add(json.readTree(line));
        }
        return lines;
    }
}
