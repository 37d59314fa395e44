package dev.annals.core.feed;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.core.feed.FeedClient.FEED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.sql.Connection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients read one record by its id. */
@QuarkusTest
@SuppressWarnings("OrphanedFormatString") // paths are percent-encoded
class RecordResourceTest extends FeedTest {

    @Test
    void aRecordFoundByItsIdIsTheOneInTheFeed() throws Exception {
        feed.append("""
                {"action": "alone", "metadata": {"a": [1, {"b": null}]}}""");
        feed.append(300);
        try (Connection connection = log.connectAsWriter()) {
            AuditLogFixture.insert(connection, project.id(), "sql");
            AuditLogFixture.insert(connection, project.id(), "sql");
            connection.commit();
        }

        List<Map<String, Object>> records = feed.page(FEED + "?limit=1000").records();

        assertThat(records).hasSize(303);
        for (int i : List.of(0, 1, 255, 256, 257, 300, 301, 302)) {
            Map<String, Object> record = records.get(i);
            assertThat(project.request()
                            .get(FEED + "/" + record.get("id"))
                            .then()
                            .statusCode(200)
                            .extract()
                            .<Map<String, Object>>path(""))
                    .isEqualTo(record)
                    .containsEntry("sequence_id", i + 1);
        }
    }

    @Test
    void theIdMayBeWrittenInCapitals() {
        feed.append(1);
        String id = (String) feed.page(FEED).records().get(0).get("id");
        project.request().get(FEED + "/" + id.toUpperCase(Locale.ROOT)).then().statusCode(200);
    }

    @Test
    void theRecordOfAnotherProjectIsAnsweredAsOneThatDoesNotExist() throws Exception {
        AuditLogFixture.Project other = log.newProject();
        new FeedClient(other).append(1);
        String theirs =
                (String) new FeedClient(other).page(FEED).records().get(0).get("id");
        other.request().get(FEED + "/" + theirs).then().statusCode(200);

        ExtractableResponse<Response> foreign = notFound(theirs);
        ExtractableResponse<Response> unknown = notFound(UUID.randomUUID().toString());

        assertThat(foreign.asString()).isEqualTo(unknown.asString());
        assertThat(foreign.headers().asList()).hasSameSizeAs(unknown.headers().asList());
        log.checkFeed(other.id());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1",
                "1-1-1-1-1",
                "019a9d5e7c1a7b529e0d3f6a1c2b4d5e",
                "019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5",
                "%7B019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e%7D",
                "null",
                "..%2f..",
                "%F0%9F%9A%80",
                "019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e%20"
            })
    void aMalformedIdIsNotFound(String id) {
        notFound(id);
    }

    private ExtractableResponse<Response> notFound(String id) {
        ExtractableResponse<Response> answer =
                project.wrongRequest().get(FEED + "/" + id).then().extract();
        assertProblem(answer, 404, "not-found");
        assertThat(answer.asString()).doesNotContain(id);
        return answer;
    }
}
