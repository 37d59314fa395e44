package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The requests of an administrator who moves projects. */
final class MoveRequests {

    static final long LIMIT_SECONDS = 180;

    private final Supplier<URI> service;
    private final HttpClient http = HttpClient.newHttpClient();
    private final ObjectMapper json = new ObjectMapper();

    MoveRequests(Supplier<URI> service) {
        this.service = service;
    }

    UUID newProject(String database) throws Exception {
        HttpResponse<String> made =
                administer("POST", "", "{\"name\": \"moving\", \"database\": \"" + database + "\"}");
        assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
        return UUID.fromString(json.readTree(made.body()).get("id").textValue());
    }

    HttpResponse<String> ask(UUID project, String method, String body) throws IOException, InterruptedException {
        return administer(method, "/" + project + "/move", body);
    }

    private HttpResponse<String> administer(String method, String path, String body)
            throws IOException, InterruptedException {
        URI uri = URI.create(service.get() + "/v1/projects" + path);
        HttpRequest request = HttpRequest.newBuilder(uri)
                .timeout(Duration.ofSeconds(LIMIT_SECONDS))
                .header("Authorization", "Bearer " + Instances.ADMIN)
                .header("Content-Type", "application/json")
                .method(method, BodyPublishers.ofString(body))
                .build();
        return http.send(request, BodyHandlers.ofString());
    }

    void begin(UUID project, String target) throws Exception {
        HttpResponse<String> answer = ask(project, "POST", "{\"database\": \"" + target + "\"}");
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
    }

    /** Returns {@code moved} or {@code cancelled}. */
    String awaitEnd(UUID project, Callable<String> situation) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        String last = "";
        while (System.nanoTime() < end) {
            try {
                HttpResponse<String> answer = ask(project, "GET", "");
                last = answer.body();
                JsonNode move = json.readTree(last);
                if (answer.statusCode() == 200 && !move.path("ended_at").isNull()) {
                    return move.get("state").textValue();
                }
            } catch (IOException e) {
                last = e.toString();
            }
            TimeUnit.MILLISECONDS.sleep(10);
        }
        throw new AssertionError("the move has not ended: " + last + "\n" + situation.call());
    }
}
