package dev.annals.edges.intake;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.Ports;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.derived.log.GoPrograms;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real OpenTelemetry Collector delivers log records, each once, whatever happens to the service meanwhile. */
@Slow
@TakesLong
class CollectorIT {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final long TIME = 1_756_898_119_391_000_000L;

    @TempDir
    Path folder;

    private PackagedService service;
    private Project project;
    private Process collector;
    private Path output;
    private int port;

    @BeforeEach
    void start() throws Exception {
        Path program = GoPrograms.built(Path.of(".ci", "collector"));
        service = new PackagedService(folder.resolve("data"));
        project = service.newProject("read", "write");
        port = Ports.free();
        output = folder.resolve("collector.log");
        collect(program, project.token());
    }

    private void collect(Path program, String token) throws Exception {
        Path config = Files.writeString(folder.resolve("collector.yaml"), """
                receivers:
                  otlp:
                    protocols:
                      http:
                        endpoint: 127.0.0.1:%d
                exporters:
                  otlphttp:
                    endpoint: %s
                    headers: {Authorization: "Bearer %s"}
                    sending_queue: {batch: {flush_timeout: 100ms, min_size: 100, max_size: 500}}
                    retry_on_failure: {initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0}
                service:
                  pipelines:
                    logs: {receivers: [otlp], exporters: [otlphttp]}
                  telemetry: {metrics: {level: none}}
                """.formatted(
                        port, service.uri().toString().replaceAll("/$", ""), token));
        collector = new ProcessBuilder(program.toString(), "--config", config.toString())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        Await.until("the Collector listens", () -> {
            assertThat(collector.isAlive()).as(Files.readString(output)).isTrue();
            return send("{}") == 200;
        });
    }

    @AfterEach
    void stop() throws Exception {
        if (collector != null) {
            collector.destroy();
            if (!collector.waitFor(20, TimeUnit.SECONDS)) {
                collector.destroyForcibly();
            }
        }
        if (service != null) {
            service.close();
        }
    }

    private int send(String body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/logs"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        } catch (ConnectException notYet) {
            return 0;
        }
    }

    private static String logs(int from, int to, String attribute) {
        List<String> logs = new ArrayList<>();
        for (int i = from; i < to; i++) {
            logs.add("""
                    {"timeUnixNano": "%d", "body": {"stringValue": "m%d"}, "attributes": [
                      {"key": "%s", "value": {"stringValue": "a%d"}}]}""".formatted(TIME + i * 1_000_000L, i, attribute, i));
        }
        return "{\"resourceLogs\": [{\"resource\": {\"attributes\": [{\"key\": \"service.name\", \"value\": {\"stringValue\":"
                + " \"shop\"}}]}, \"scopeLogs\": [{\"logRecords\": [" + String.join(",", logs) + "]}]}]}";
    }

    private List<String> actions() throws IOException, InterruptedException {
        List<String> actions = new ArrayList<>();
        HttpResponse<String> page = HTTP.send(
                HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs?limit=1000"))
                        .header("Authorization", "Bearer " + project.token())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        for (JsonNode record : JSON.readTree(page.body()).get("results")) {
            assertThat(record.at("/metadata/resource/service.name").asText()).isEqualTo("shop");
            actions.add(record.get("action").asText());
        }
        return actions;
    }

    @Test
    void eachLogRecordIsStoredOnceThoughTheServiceIsKilledAndTheSenderSendsAgain() throws Exception {
        int records = 600;
        for (int i = 0; i < records; i += 20) {
            assertThat(send(logs(i, i + 20, "audit.action"))).isEqualTo(200);
            if (i == 200) {
                Await.until("some are stored", () -> !actions().isEmpty());
                service.kill();
            }
            if (i == 400) {
                service.restart();
            }
        }
        // As a sender that got no answer from the Collector.
        assertThat(send(logs(180, 240, "audit.action"))).isEqualTo(200);
        Await.until("all are stored", () -> actions().size() >= records);
        // Log records that were sent before have left the queue by then.
        assertThat(send(logs(records, records + 1, "audit.action"))).isEqualTo(200);
        Await.until("the last is stored", () -> actions().contains("a" + records));
        assertThat(actions()).doesNotHaveDuplicates().hasSize(records + 1);
    }

    @Test
    void theCollectorLogsWhatIsRefusedAndWhy() throws Exception {
        assertThat(send(logs(0, 2, "audit.actoin"))).isEqualTo(200);
        Await.until(
                "it logs what was refused",
                () -> Files.readString(output).contains("log record 0: audit.actoin is no attribute of a record"));
        assertThat(Files.readString(output)).contains("\"dropped_log_records\": 2");
        assertThat(send(logs(2, 3, "audit.action"))).isEqualTo(200);
        Await.until("the next is stored", () -> actions().equals(List.of("a2")));
    }

    @Test
    void theCollectorLogsWhyItMayNotSend() throws Exception {
        collector.destroy();
        collector.waitFor();
        collect(
                GoPrograms.built(Path.of(".ci", "collector")),
                service.token(project, "read").token());
        assertThat(send(logs(0, 1, "audit.action"))).isEqualTo(200);
        Await.until("it logs why", () -> Files.readString(output).contains("Forbidden: "));
    }
}
