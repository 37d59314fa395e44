package dev.annals;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.edges.contract.ContractFilter;
import io.restassured.RestAssured;
import io.restassured.specification.RequestSpecification;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;

/** Projects and tokens for tests of the service, beside what its database offers to them. */
@ApplicationScoped
public class AuditLogFixture extends SqlFixture {

    /** The admin token that the tests configure. */
    public static final String ADMIN_TOKEN = "annals_admin_token_of_the_tests";

    /** From which the tests' logs derive their keys. */
    public static final String LOG_KEY = "annals-log-key/1:" + "A".repeat(43);

    /** With which the tests' service encrypts the secrets of sinks. */
    public static final String STREAMS_KEY = "5".repeat(64);

    /** Appends one record; reads pages. */
    public static final String LOGS = "/v1/project-logs";
    /** Appends batches. */
    public static final String BATCH = LOGS + "/batch";
    /** Appends NDJSON. */
    public static final String IMPORT = LOGS + "/import";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final AtomicInteger PROJECTS = new AtomicInteger();

    /** A project of a test's own, with a token for it. */
    public record Project(UUID id, String token) {

        /** A request with this project's token, as a client should send it: it is held against the contract, too. */
        public RequestSpecification request() {
            return wrongRequest().filter(ContractFilter.ofRequestsAndAnswers());
        }

        /** A request with this project's token that may be wrong on purpose. The links of a page go out as they are. */
        public RequestSpecification wrongRequest() {
            return given().urlEncodingEnabled(false).header("Authorization", "Bearer " + token);
        }
    }

    /** A batch of these records, each given as its JSON. */
    public static String batch(String... records) {
        return "{\"records\": [" + String.join(", ", records) + "]}";
    }

    /** The path that takes this JSON, a batch or a single record. */
    public static String pathOf(String body) {
        return body.startsWith("{\"records\"") ? BATCH : LOGS;
    }

    /** Makes a project and a read-write token by way of the API. */
    public Project newProject() {
        return newProject("read", "write", "sequence");
    }

    /** Makes a project and a token with these scopes by way of the API. */
    public Project newProject(String... scopes) {
        String name = "project " + PROJECTS.incrementAndGet() + " " + UUID.randomUUID();
        UUID id = UUID.fromString(administer("/v1/projects", Map.of("name", name), "id"));
        return new Project(id, newToken(id, scopes));
    }

    /** Makes a token for a project by way of the API. */
    public String newToken(UUID projectId, String... scopes) {
        return newToken(projectId.toString(), scopes);
    }

    /** Makes a token for the project with this id or name by way of the API. */
    public String newToken(String project, String... scopes) {
        return administer("/v1/projects/" + project + "/tokens", Map.of("scopes", scopes), "token");
    }

    // Not by REST Assured, which with the check of what it receives takes milliseconds: nearly every test begins with
    // this, and others check these operations.
    private static String administer(String path, Map<String, Object> body, String field) {
        try {
            HttpRequest request = HttpRequest.newBuilder(
                            URI.create(RestAssured.baseURI + ":" + RestAssured.port + path))
                    .header("Authorization", "Bearer " + ADMIN_TOKEN)
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
                    .build();
            HttpResponse<String> answer = send(request);
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
            return JSON.readTree(answer.body()).get(field).textValue();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            // A connection that was kept may just be closed by the service, and a POST is not sent again by itself.
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        }
    }
}
