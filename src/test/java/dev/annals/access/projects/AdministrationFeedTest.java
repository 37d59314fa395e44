package dev.annals.access.projects;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.empty;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.notNullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ProjectTest;
import dev.annals.derived.log.LogReader;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.ProvedRecord;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An auditor reads the feed of the administration in each way in which feeds are read, and does nothing else. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class AdministrationFeedTest extends ProjectTest {

    private static final String LOGS = AuditLogFixture.LOGS;

    private final HttpClient http = HttpClient.newHttpClient();
    private Project annals;

    @BeforeEach
    void askForAnAuditor() throws Exception {
        UUID id = UUID.fromString(log.text("select annals.administration()"));
        annals = new Project(id, log.newToken("annals", "audit"));
    }

    @Test
    void pagesFiltersStatisticsAndExportsHaveWhatWasDone() {
        String made = log.newProject().id().toString();
        for (String filter : List.of(
                "action=annals.project.create&subject=" + made,
                "actor=ANNALS_ADMIN_TOKEN&outcome=success&subject=" + made)) {
            annals.request()
                    .get(LOGS + "?order=desc&" + filter)
                    .then()
                    .statusCode(200)
                    .body("results.action", hasItem("annals.project.create"))
                    .body("results.recorded_by", hasItem(notNullValue()));
        }
        String id = annals.request()
                .get(LOGS + "?action=annals.project.create&subject=" + made)
                .then()
                .body("results", hasSize(1))
                .extract()
                .path("results[0].id");
        annals.request()
                .get(LOGS + "/" + id)
                .then()
                .statusCode(200)
                .body("subject.id", equalTo(made))
                .body("outcome", equalTo("success"));
        annals.request().get(LOGS + "/statistics").then().statusCode(200);
        assertThat(annals.request()
                        .get(LOGS + "/export?subject=" + made)
                        .then()
                        .statusCode(200)
                        .extract()
                        .asString())
                .contains(id);
    }

    @Test
    void itIsReadLive() throws Exception {
        String behind = annals.request()
                .get(LOGS + "?order=desc&limit=1")
                .then()
                .statusCode(200)
                .extract()
                .path("poll_more");
        String cursor = behind.replaceAll(".*[?&]cursor=([^&]*).*", "$1");
        CompletableFuture<HttpResponse<String>> polled =
                http.sendAsync(request(LOGS + "?wait=30&cursor=" + cursor), HttpResponse.BodyHandlers.ofString());
        CompletableFuture<String> streamed = http.sendAsync(
                        request(LOGS + "/stream?cursor=" + cursor), HttpResponse.BodyHandlers.ofLines())
                .thenApply(answer -> {
                    try (Stream<String> lines = answer.body()) {
                        return lines.filter(line -> line.startsWith("data:") && line.contains("annals.project.create"))
                                .findFirst()
                                .orElse("");
                    }
                });
        String made = log.newProject().id().toString();
        assertThat(polled.get(30, TimeUnit.SECONDS).body()).contains(made);
        assertThat(streamed.get(30, TimeUnit.SECONDS)).contains(made);
    }

    private HttpRequest request(String path) {
        return HttpRequest.newBuilder(URI.create(RestAssured.baseURI + ":" + RestAssured.port + path))
                .header("Authorization", "Bearer " + annals.token())
                .build();
    }

    @Test
    void eachEventIsProvedAndNoneIsLeftOut() throws Exception {
        LogReader reader = new LogReader(annals);
        Checkpoint before = reader.next();
        String made = log.newProject().id().toString();
        String id = annals.request()
                .get(LOGS + "?action=annals.project.create&subject=" + made)
                .then()
                .extract()
                .path("results[0].id");
        Await.until(
                "the log has the event",
                () -> annals.wrongRequest().get(LOGS + "/" + id + "/proof").statusCode() == 200);
        ProvedRecord event = reader.prove(id);
        assertThat(event.record().fields()).containsEntry("subject.id", "\"" + made + "\"");
        Checkpoint pinned = reader.next();
        assertThat(pinned.size()).isGreaterThan(before.size());
        assertThat(reader.walk(pinned, 1000)).hasSize((int) pinned.size());
    }

    @Test
    void anAuditorDoesNothingElse() {
        String other = log.newProject().id().toString();
        Stream.<Response>of(
                        auditor().body("{\"action\": \"a\"}").post(LOGS),
                        auditor().body("{\"name\": \"mine " + other + "\"}").post("/v1/projects"),
                        auditor().body("{\"name\": \"mine " + other + "\"}").patch("/v1/projects/" + other),
                        auditor().post("/v1/projects/" + other + "/close"),
                        auditor().body("{\"scopes\": [\"read\"]}").post("/v1/projects/" + other + "/tokens"),
                        auditor().body("{\"scopes\": [\"admin\"]}").post("/v1/projects/annals/tokens"))
                .forEach(answer ->
                        assertThat(answer.statusCode()).as(answer.asString()).isEqualTo(403));
        auditor().get("/v1/projects/" + other).then().statusCode(200);
        given().auth()
                .oauth2(project.token())
                .get(LOGS + "?action=annals.project.create&subject=" + other)
                .then()
                .statusCode(200)
                .body("results", empty());
    }

    private RequestSpecification auditor() {
        return annals.wrongRequest().contentType("application/json");
    }
}
