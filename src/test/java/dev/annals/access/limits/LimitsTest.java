package dev.annals.access.limits;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.matchesPattern;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Limits over HTTP: a caller at its limit learns how long to wait, and other callers are not affected. */
@QuarkusTest
@Timeout(60)
class LimitsTest extends ProjectTest {

    private static final String LOGS = AuditLogFixture.LOGS;
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @TestHTTPResource("/")
    URI service;

    private void limit(String limits) {
        limit("/v1/projects/" + project.id(), limits);
    }

    private static void limit(String path, String limits) {
        given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(limits)
                .put(path + "/limits")
                .then()
                .statusCode(200);
    }

    private Response append(String... records) {
        return project.request()
                .contentType("application/json")
                .body(AuditLogFixture.batch(records))
                .post(AuditLogFixture.BATCH);
    }

    private static void assertExceeded(Response answer, String limit) {
        answer.then()
                .statusCode(429)
                .header("Retry-After", matchesPattern("[1-9][0-9]*"))
                .header("RateLimit-Policy", containsString("\"" + limit + "\";q="))
                .header("RateLimit", containsString("\"" + limit + "\";r=0"))
                .body("type", equalTo("urn:annals:problem:limit-exceeded"))
                .body("limit", equalTo(limit));
        assertThat(answer.jsonPath().getLong("retry_after")).isEqualTo(Long.parseLong(answer.header("Retry-After")));
    }

    private static Response get(Future<Response> answer) {
        try {
            return answer.get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(service.resolve(path)).header("Authorization", "Bearer " + project.token());
    }

    @Test
    void aBatchUsesUpTheRecordsOfItsProjectAndNothingOfTheNextIsStored() throws Exception {
        limit("{\"records_per_second\": 2}");
        append(Collections.nCopies(12, "{\"action\": \"a\"}").toArray(String[]::new))
                .then()
                .statusCode(201);
        Response refused = append("{\"action\": \"e\"}");
        assertExceeded(refused, "project-records");
        assertThat(log.checkFeed(project.id())).isEqualTo(12);
        AuditLogFixture.Project quiet = log.newProject();
        quiet.request()
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(LOGS)
                .then()
                .statusCode(201)
                .header("RateLimit", equalTo(null));
        TimeUnit.SECONDS.sleep(refused.jsonPath().getLong("retry_after"));
        append("{\"action\": \"e\"}").then().statusCode(201);
    }

    @Test
    void aRecordThatIsTooFarAheadOfTheClockIsRefused() throws Exception {
        String ahead = "{\"action\": \"a\", \"timestamp\": \"%s\"}"
                .formatted(Instant.now().plusSeconds(7_200));
        append(ahead).then().statusCode(201).header("RateLimit", equalTo(null));
        limit("{\"seconds_ahead\": 60}");
        append("{\"action\": \"a\"}", ahead)
                .then()
                .statusCode(422)
                .header("RateLimit", equalTo(null))
                .body("type", equalTo("urn:annals:problem:invalid-record"))
                .body("errors[0].pointer", equalTo("/records/1/timestamp"))
                .body(
                        "errors[0].detail",
                        matchesPattern("is 7\\d{3} seconds ahead of the service's clock, and may be at most 60: .*"))
                .body("errors.size()", equalTo(1));
        project.request()
                .contentType("application/x-ndjson")
                .body(("{\"action\": \"b\"}\n" + ahead + "\n{\"action\": \"c\"}\n").getBytes(StandardCharsets.UTF_8))
                .post(LOGS + "/import")
                .then()
                .statusCode(200)
                .body("stored", equalTo(2))
                .body("refusals[0].line", equalTo(2))
                .body("refusals[0].problem.errors[0].pointer", equalTo("/timestamp"));
        append("{\"action\": \"d\", \"timestamp\": \"%s\"}"
                        .formatted(Instant.now().plusSeconds(30)))
                .then()
                .statusCode(201);
        limit("{}");
        append(ahead).then().statusCode(201);
        assertThat(log.checkFeed(project.id())).isEqualTo(5);
    }

    @Test
    void aProjectThatFloodsGetsItsRateAndItsNeighbourEverything() throws Exception {
        int rate = 3;
        limit("{\"records_per_second\": " + rate + "}");
        AuditLogFixture.Project quiet = log.newProject();
        CountDownLatch refused = new CountDownLatch(50);
        long start = System.nanoTime();
        ExecutorService flood = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> all = Stream.generate(() -> request(LOGS)
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"))
                            .build())
                    .limit(4)
                    .<Future<?>>map(request -> flood.submit(() -> {
                        while (refused.getCount() > 0) {
                            int status = HTTP.send(request, HttpResponse.BodyHandlers.discarding())
                                    .statusCode();
                            assertThat(status).isIn(201, 429);
                            if (status == 429) {
                                refused.countDown();
                            }
                        }
                        return null;
                    }))
                    .toList();
            for (int i = 0; i < 20; i++) {
                quiet.request()
                        .contentType("application/json")
                        .body("{\"action\": \"a\"}")
                        .post(LOGS)
                        .then()
                        .statusCode(201);
            }
            for (Future<?> one : all) {
                one.get();
            }
        } finally {
            flood.shutdownNow();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        assertThat(log.checkFeed(project.id())).isBetween((long) rate, (long) (rate * (seconds + 1)) + 4);
        assertThat(log.checkFeed(quiet.id())).isEqualTo(20);
    }

    @Test
    void aTokenIsLimitedInItsBytesAndRequests() throws Exception {
        String writer = log.newToken(project.id(), "read", "write");
        String id =
                given().auth().oauth2(writer).get("/v1/whoami").then().extract().path("token_id");
        String path = "/v1/projects/" + project.id() + "/tokens/" + id;
        limit(path, "{\"bytes_per_second\": 10}");
        String record = "{\"action\": \"" + "a".repeat(255) + "\"}";
        Response first = null;
        for (int i = 0; i < 2; i++) {
            first = given().auth()
                    .oauth2(writer)
                    .contentType("application/json")
                    .body(record)
                    .post(LOGS);
        }
        assertExceeded(first, "token-bytes");
        append(record).then().statusCode(201);
        limit(path, "{\"requests_per_second\": 1}");
        // At the same time: on a busy machine, each could take a second.
        ExecutorService readers = Executors.newFixedThreadPool(8);
        try {
            Callable<Response> read = () -> given().auth().oauth2(writer).get(LOGS);
            List<Response> answers = readers.invokeAll(Collections.nCopies(8, read)).stream()
                    .map(LimitsTest::get)
                    .toList();
            assertThat(answers).anyMatch(answer -> answer.statusCode() == 200);
            assertExceeded(
                    answers.stream()
                            .filter(answer -> answer.statusCode() != 200)
                            .findFirst()
                            .orElseThrow(),
                    "token-requests");
        } finally {
            readers.shutdownNow();
        }
        limit(path, "{}");
        given().auth().oauth2(writer).get(LOGS).then().statusCode(200).header("RateLimit", equalTo(null));
    }

    @Test
    void streamsLongPollsAndExportsAreCountedWhileTheyLast() throws Exception {
        append("{\"action\": \"a\"}").then().statusCode(201);
        String pollMore = project.request().get(LOGS).path("poll_more");
        limit("{\"streams\": 1, \"exports\": 0}");
        HttpResponse<InputStream> stream = HTTP.send(
                request(LOGS + "/stream").header("Accept", "text/event-stream").build(),
                HttpResponse.BodyHandlers.ofInputStream());
        assertThat(stream.statusCode()).isEqualTo(200);
        assertExceeded(project.wrongRequest().get(LOGS + "/stream"), "project-streams");
        assertExceeded(project.wrongRequest().get(pollMore + "&wait=10"), "project-streams");
        assertExceeded(project.wrongRequest().get(LOGS + "/export"), "project-exports");
        project.request().get(LOGS).then().statusCode(200);
        stream.body().close();
        Await.until(
                "the stream's place is free",
                () -> project.wrongRequest().get(pollMore + "&wait=1").statusCode() == 200);
    }

    @Test
    void anImportIsSlowedDownAndLosesNothing() throws Exception {
        limit("{\"records_per_second\": 100}");
        long start = System.nanoTime();
        project.wrongRequest()
                .contentType("application/x-ndjson")
                .body("{\"action\": \"a\"}\n".repeat(350).getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.IMPORT)
                .then()
                .statusCode(200)
                .body("stored", equalTo(350));
        // The first 100 are free, and 100 more each second.
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(1_900));
    }

    @Test
    void anImportThatWouldWaitTooLongSaysWhereToGoOn() throws Exception {
        limit("{\"bytes_per_second\": 1}");
        Response refused = project.wrongRequest()
                .contentType("application/x-ndjson")
                .body("{\"action\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n"
                        .repeat(5)
                        .getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.IMPORT);
        assertThat(refused.statusCode()).isEqualTo(429);
        assertThat(refused.jsonPath().getString("limit")).isEqualTo("project-bytes");
        assertThat(refused.jsonPath().getLong("settled_lines"))
                .isEqualTo(log.checkFeed(project.id()))
                .isEqualTo(1);
    }

    @Test
    void aRaisedLimitAppliesToARunningImport() throws Exception {
        // It would take a quarter of an hour.
        limit("{\"records_per_second\": 1}");
        String body = "{\"action\": \"a\"}\n".repeat(1_000);
        CompletableFuture<HttpResponse<String>> answer = HTTP.sendAsync(
                request(AuditLogFixture.IMPORT)
                        .header("Content-Type", "application/x-ndjson")
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        Await.until("it has begun", () -> !log.feed(project.id()).isEmpty());
        limit("{\"records_per_second\": 100000}");
        assertThat(answer.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
        assertThat(log.checkFeed(project.id())).isEqualTo(1_000);
    }
}
