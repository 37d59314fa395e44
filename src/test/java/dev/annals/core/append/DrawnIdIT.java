package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static dev.annals.AuditLogFixture.batch;
import static dev.annals.AuditLogFixture.pathOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.endsWith;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.kernel.database.UnreliablePath;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.path.json.JsonPath;
import io.restassured.response.ValidatableResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An id that the service draws is never a reason to refuse a record, even if another writer has it. */
@QuarkusTest
@OneByOne
@WithTestResource(UnreliablePath.class)
@Timeout(60)
class DrawnIdIT extends ProjectTest {

    private String taken(String what, int times) {
        return "{\"action\": \"a\", \"message\": \"take-" + what + "-" + project.id() + "x" + times + "\"}";
    }

    private ValidatableResponse append(String body) {
        return project.request()
                .contentType("application/json")
                .body(body)
                .post(pathOf(body))
                .then();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void theIdOfARecordIsDrawnAgainAndTheAnswerNamesTheNewOne(int times) throws Exception {
        ValidatableResponse answer = append(taken("record", times)).statusCode(201);
        JsonPath record = answer.header(
                        "Location", endsWith(log.feed(project.id()).get(times).toString()))
                .body("action", equalTo("a"))
                .extract()
                .jsonPath();
        assertThat(record.getLong("sequence_id")).isEqualTo(times + 1);
        assertThat(log.feed(project.id())).hasSize(times + 1).endsWith(record.getUUID("id"));
    }

    @Test
    void onlyTheTakenIdOfABatchIsDrawnAgain() throws Exception {
        UUID own = UUID.randomUUID();
        List<UUID> ids = new ArrayList<>();
        append(batch(taken("record", 1), "{\"action\": \"b\", \"id\": \"" + own + "\"}", "{\"action\": \"c\"}"))
                .statusCode(201)
                .extract()
                .jsonPath()
                .<String>getList("results.id")
                .forEach(id -> ids.add(UUID.fromString(id)));
        assertThat(ids.get(1)).isEqualTo(own);
        List<UUID> feed = log.feed(project.id());
        assertThat(feed.subList(1, feed.size())).isEqualTo(ids);
    }

    @Test
    void theIdOfALineIsDrawnAgain() throws Exception {
        String lines = taken("record", 1) + "\n{\"action\": \"b\"}\n";
        project.wrongRequest()
                .contentType("application/x-ndjson")
                .body(lines.getBytes(StandardCharsets.UTF_8))
                .post(IMPORT)
                .then()
                .statusCode(200)
                .body("stored", equalTo(2))
                .body("refused", equalTo(0));
        assertThat(log.feed(project.id())).hasSize(3);
    }

    @Test
    void theIdOfAnAppendIsDrawnAgain() throws Exception {
        append(batch(taken("append", 2), "{\"action\": \"b\"}")).statusCode(201);
        assertThat(log.feed(project.id())).hasSize(4);
    }

    @Test
    void redrawsHaveALimit() throws Exception {
        append(taken("record", 999)).statusCode(503).body("type", equalTo("urn:annals:problem:unavailable"));
        // The first draw, and as many more as annals.append.retries allows.
        assertThat(log.feed(project.id())).hasSize(21);
    }

    @Test
    void aTakenIdOfTheClientIsRefused() throws Exception {
        UUID id = UUID.randomUUID();
        append("{\"id\": \"" + id + "\", " + taken("record", 1).substring(1))
                .statusCode(409)
                .body("type", equalTo("urn:annals:problem:record-id-taken"));
        assertThat(log.feed(project.id())).containsExactly(id);
    }
}
