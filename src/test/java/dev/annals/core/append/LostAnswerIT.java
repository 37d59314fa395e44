package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.OneByOne;
import dev.annals.kernel.database.UnreliablePath;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.path.json.JsonPath;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Appends whose connection breaks exactly before or exactly behind the commit: both land, and land once. */
@QuarkusTest
@OneByOne
@WithTestResource(UnreliablePath.class)
@Timeout(60)
class LostAnswerIT {

    private static final int REQUESTS = 40;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/v1/project-logs")
    URI logs;

    private final HttpClient http = HttpClient.newHttpClient();
    private Project project;
    private int breaksBefore;

    @BeforeEach
    void makeProject() {
        project = log.newProject();
        breaksBefore = UnreliablePath.breaks();
    }

    @ParameterizedTest
    @ValueSource(strings = {"lose-request-", "lose-answer-"})
    void aRecordLandsOnceAndItsRequestIsAnswered(String mark) throws Exception {
        HttpResponse<String> answer = append("{\"action\": \"a\", \"message\": \"" + mark + UUID.randomUUID() + "\"}")
                .get(30, TimeUnit.SECONDS);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        assertThat(JsonPath.from(answer.body()).getLong("sequence_id")).isEqualTo(1);
        assertThat(UnreliablePath.breaks()).isEqualTo(breaksBefore + 1);
        assertThat(log.feed(project.id()))
                .containsExactly(JsonPath.from(answer.body()).getUUID("id"));
    }

    @Test
    void whetherARecordWithAnIdOfTheClientsWasThereBeforeIsUnknownThen() throws Exception {
        UUID id = UUID.randomUUID();
        HttpResponse<String> answer = append("{\"id\": \"" + id + "\", \"action\": \"a\", \"message\": \"lose-answer-"
                        + UUID.randomUUID() + "\"}")
                .get(30, TimeUnit.SECONDS);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        assertThat(UnreliablePath.breaks()).isEqualTo(breaksBefore + 1);
        assertThat(log.feed(project.id())).containsExactly(id);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lose-request-", "lose-answer-"})
    void allRecordsOfASharedCommitLandOnce(String mark) throws Exception {
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            String message = i % 10 == 5 ? mark + UUID.randomUUID() : "passes";
            answers.add(append("{\"action\": \"a\", \"message\": \"" + message + "\"}"));
        }
        List<Long> places = new ArrayList<>();
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            places.add(JsonPath.from(answer.get().body()).getLong("sequence_id"));
        }
        assertThat(places)
                .containsExactlyInAnyOrderElementsOf(IntStream.rangeClosed(1, REQUESTS)
                        .mapToObj(Long::valueOf)
                        .toList());
        assertThat(UnreliablePath.breaks()).isGreaterThan(breaksBefore);
        assertThat(log.checkFeed(project.id())).isEqualTo(REQUESTS);
    }

    @Test
    void aNumberThatWasDrawnByTheLostCommitIsNotDrawnAgain() throws Exception {
        project.request()
                .contentType("application/json")
                .body("{\"kind\": \"SYNCHRONOUS\"}")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
        List<Long> numbers = new ArrayList<>();
        for (String message : List.of("passes", "lose-answer-" + UUID.randomUUID(), "passes")) {
            HttpResponse<String> answer = append(
                            "{\"action\": \"a\", \"number\": {\"sequence\": \"invoice\"}, \"message\": \"" + message
                                    + "\"}")
                    .get(30, TimeUnit.SECONDS);
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
            numbers.add(JsonPath.from(answer.body()).getLong("number.value"));
        }
        assertThat(UnreliablePath.breaks()).isEqualTo(breaksBefore + 1);
        assertThat(numbers).containsExactly(1L, 2L, 3L);
        assertThat(log.checkFeed(project.id())).isEqualTo(3);
    }

    private CompletableFuture<HttpResponse<String>> append(String body) {
        HttpRequest request = HttpRequest.newBuilder(logs)
                .header("Authorization", "Bearer " + project.token())
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        return http.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }
}
