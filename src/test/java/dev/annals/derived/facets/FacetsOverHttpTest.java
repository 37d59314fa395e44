package dev.annals.derived.facets;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Facets over HTTP: requests, rights and refusals. */
@QuarkusTest
class FacetsOverHttpTest extends ProjectTest {

    private static final String FACETS = AuditLogFixture.LOGS + "/facets";

    @Test
    void facetsCountMatchingRecordsOfTheProjectAlone() {
        append(
                project,
                "{'action': 'a', 'actor': {'id': 'u1', 'name': 'Ann'}, 'outcome': 'success', 'timestamp': '2026-01-31T23:59:59Z'}",
                "{'action': 'a', 'actor': {'id': 'u1', 'name': 'Anna'}, 'ip_address': '::1', 'timestamp': '2026-02-01T00:00:00Z'}",
                "{'action': 'b', 'actor': {'name': 'u1'}, 'outcome': 'failure', 'timestamp': '2026-02-01T01:00:00+01:00'}",
                "{'action': 'c', 'timestamp': '2026-02-01T00:00:01Z'}");
        append(log.newProject(), "{'action': 'a', 'actor': {'id': 'u1'}}");
        Response answer = get("?actor=u1&interval=hour&end=2026-02-01T00:00:01Z");
        assertThat(answer.<Integer>path("through")).isEqualTo(4);
        assertThat(answer.<Boolean>path("complete")).isTrue();
        assertThat(answer.<Integer>path("total")).isEqualTo(3);
        assertThat(answer.<List<?>>path("intervals"))
                .isEqualTo(List.of(
                        Map.of(
                                "start",
                                "2026-01-31T23:00:00Z",
                                "count",
                                1,
                                "outcomes",
                                List.of(Map.of("value", "success", "count", 1))),
                        Map.of(
                                "start",
                                "2026-02-01T00:00:00Z",
                                "count",
                                2,
                                "outcomes",
                                List.of(Map.of("value", "failure", "count", 1)))));
        assertThat(answer.<List<?>>path("facets[0].values"))
                .isEqualTo(List.of(Map.of("value", "a", "count", 2), Map.of("value", "b", "count", 1)));
        assertThat(answer.<List<?>>path("facets[1].values")).isEqualTo(List.of(Map.of("value", "u1", "count", 3)));
        assertThat(answer.<Integer>path("facets[4].missing")).isEqualTo(2);
        assertThat(get("?q=action:a&top=1").<List<?>>path("facets[1].values"))
                .isEqualTo(List.of(Map.of("value", "u1", "name", "Anna", "count", 2)));
        assertThat(get("?action=none").<List<?>>path("intervals")).isEmpty();
    }

    @Test
    void valuesOfTheMetadataAreCountedAtUpToFourPaths() {
        append(
                project,
                "{'action': 'a', 'metadata': {'region': 'ams', 'http': {'status': 200}, 'a.b': {'x y': true}}}",
                "{'action': 'a', 'metadata': {'region': 'ams', 'http': {'status': '200'}, 'a.b': {'x y': null}}}",
                "{'action': 'b', 'metadata': {'region': ['ams'], 'http': {'status': 1.50}}}",
                "{'action': 'b', 'metadata': {'region': {'x': 1}, 'http': 5, 'long': '%s'}}"
                        .formatted("x".repeat(1_025)),
                "{'action': 'b', 'metadata': {'region': '<b>', 'long': '%s'}}".formatted("y".repeat(1_024)));
        append(log.newProject(), "{'action': 'a', 'metadata': {'region': 'other'}}");
        Response answer = given().auth()
                .preemptive()
                .oauth2(project.token())
                .queryParam("metadata", "metadata.region,metadata.http.status,metadata.\"a.b\".\"x y\",metadata.long")
                .get(FACETS);
        assertThat(answer.<List<String>>path("facets.field").subList(6, 10))
                .containsExactly(
                        "metadata.region", "metadata.http.status", "metadata.\"a.b\".\"x y\"", "metadata.long");
        assertThat(answer.<List<?>>path("facets[6].values"))
                .isEqualTo(List.of(Map.of("value", "ams", "count", 2), Map.of("value", "<b>", "count", 1)));
        assertThat(answer.<Integer>path("facets[6].missing")).isEqualTo(2);
        assertThat(answer.<List<?>>path("facets[7].values"))
                .isEqualTo(List.of(Map.of("value", "200", "count", 2), Map.of("value", "1.50", "count", 1)));
        assertThat(answer.<List<?>>path("facets[8].values")).isEqualTo(List.of(Map.of("value", "true", "count", 1)));
        assertThat(answer.<Integer>path("facets[8].missing")).isEqualTo(4);
        assertThat(answer.<Integer>path("facets[9].distinct")).isEqualTo(1);
        assertThat(get("?metadata=metadata.region&action=b").<List<?>>path("facets[6].values"))
                .isEqualTo(List.of(Map.of("value", "<b>", "count", 1)));
        for (String wrong : List.of(
                "",
                "region",
                "metadata",
                "metadata.",
                "metadata.a:b",
                "-metadata.a",
                "metadata.a:x OR metadata.b",
                " metadata.a",
                "metadata.a,",
                "metadata.a,metadata.a",
                "metadata.a,metadata.b,metadata.c,metadata.d,metadata.e",
                "metadata." + "a".repeat(192))) {
            given().auth()
                    .preemptive()
                    .oauth2(project.token())
                    .queryParam("metadata", wrong)
                    .get(FACETS)
                    .then()
                    .statusCode(400)
                    .body("parameter", equalTo("metadata"));
        }
        assertThat(get("?metadata=metadata." + "a".repeat(191)).statusCode()).isEqualTo(200);
    }

    @Test
    void anEmptyFeedHasNoFacets() {
        Response answer = get("");
        assertThat(answer.<Integer>path("total")).isZero();
        assertThat(answer.<Boolean>path("complete")).isTrue();
        assertThat(answer.<List<List<?>>>path("facets.values")).hasSize(6).containsOnly(List.of());
    }

    @Test
    void valuesAreTextWhateverTheyLookLike() {
        for (String value : List.of(
                "<script>alert(1)</script>", "it's \\\"so\\\"; --", "\\u0007\\u001b[31m", "\\ud83d\\ude00%_$1")) {
            append(
                    project,
                    "{'action': '%s', 'outcome': '%s', 'subject': {'id': '%s', 'name': '%s'}}"
                            .formatted(value, value, value, value)
                            .replace("it's", "it\\u0027s"));
        }
        Response answer = get("?top=4");
        assertThat(answer.<List<String>>path("facets[0].values.value"))
                .containsExactly(
                        "\u0007\u001b[31m", "<script>alert(1)</script>", "it's \"so\"; --", "\ud83d\ude00%_$1");
        assertThat(answer.<List<?>>path("facets[2].values.name"))
                .isEqualTo(answer.<List<?>>path("facets[0].values.value"));
        assertThat(answer.<List<?>>path("intervals.outcomes[0].value")).hasSize(4);
    }

    @Test
    void aLinkCountsTheRecordsThatItShows() {
        append(
                project,
                "{'action': 'own', 'subject': {'id': 'c-1', 'name': 'One'}, 'actor': {'id': 'a-1'}}",
                "{'action': 'secret', 'subject': {'id': 'c-2', 'name': 'c-1'}, 'actor': {'id': 'a-1'}}",
                "{'action': 'secret', 'subject': {'name': 'c-1'}, 'outcome': 'secret'}",
                "{'action': 'secret', 'actor': {'id': 'c-1'}}");
        String url = given().auth()
                .preemptive()
                .oauth2(log.newToken(project.id(), "link"))
                .contentType("application/json")
                .body("{\"subject_id\": \"c-1\"}")
                .post("/v1/viewer-links")
                .path("url");
        String token = url.substring(url.indexOf("#token=") + 7);
        for (String query : List.of("", "?subject=c-1", "?q=actor.id:a-1", "?q=-action:own", "?subject=c-2")) {
            Response answer = given().urlEncodingEnabled(false)
                    .auth()
                    .preemptive()
                    .oauth2(token)
                    .get(FACETS + query);
            assertThat(answer.statusCode()).isEqualTo(200);
            assertThat(answer.<Integer>path("total"))
                    .as(query)
                    .isEqualTo(query.contains("c-2") || query.contains("own") ? 0 : 1);
            assertThat(answer.asString()).doesNotContain("secret");
        }
    }

    @Test
    void redactedValuesAreMissing() {
        String id = append(
                project,
                "{'action': 'a', 'actor': {'id': 'jane', 'name': 'Jane'}, 'outcome': 'Jane', 'ip_address': '::7'}");
        append(project, "{'action': 'a', 'actor': {'id': 'joe'}}");
        given().auth()
                .preemptive()
                .oauth2(log.newToken(project.id(), "read", "redact"))
                .contentType("application/json")
                .body(
                        "{\"fields\": [\"actor.id\", \"actor.name\", \"outcome\", \"ip_address\"], \"reason\": \"a reason\"}")
                .post(AuditLogFixture.LOGS + "/" + id + "/redactions")
                .then()
                .statusCode(200);
        Response answer = get("?action=a");
        assertThat(answer.asString()).doesNotContainIgnoringCase("jane").doesNotContain("::7");
        assertThat(answer.<Integer>path("total")).isEqualTo(2);
        assertThat(answer.<Integer>path("facets[1].missing")).isEqualTo(1);
        assertThat(answer.<List<Integer>>path("facets.distinct").subList(1, 5)).containsExactly(1, 0, 0, 0);
        assertThat(get("?actor=jane").<Integer>path("total")).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "interval=second | interval",
                "interval= | interval",
                "interval=HOUR | interval",
                "top=0 | top",
                "top=101 | top",
                "top=-1 | top",
                "top=1&top=2 | top",
                "limit=3 | limit",
                "cursor=0 | cursor",
                "order=desc | order",
                "start=2026-01-02&end=2026-01-01 | end",
                "ip_address=10.0.0.0/8 | ip_address",
                "q=%28a | q",
            })
    void aParameterThatCannotBeUsedIsAProblem(String query, String parameter) {
        project.wrongRequest().get(FACETS + "?" + query).then().statusCode(400).body("parameter", equalTo(parameter));
    }

    @Test
    void aProblemSaysWhatToDo() {
        assertThat(project.wrongRequest()
                        .get(FACETS + "?interval=hour&start=2026-01-01&end=2027-01-01")
                        .<String>path("detail"))
                .contains("more than 1000")
                .contains("take day,");
        project.wrongRequest().get(FACETS + "?q=a+b+%28c").then().body("position", equalTo(5));
        // At the limit: 1,000 hours.
        Response answer = get("?interval=hour&start=2026-01-01&end=2026-02-11T16:00:00Z");
        assertThat(answer.<String>path("interval")).isEqualTo("hour");
        project.wrongRequest()
                .get(FACETS + "?interval=hour&start=2026-01-01&end=2026-02-11T16:00:01Z")
                .then()
                .statusCode(422)
                .body("type", equalTo("urn:annals:problem:result-too-large"));
    }

    private Response get(String query) {
        return project.request()
                .get(FACETS + query)
                .then()
                .statusCode(200)
                .extract()
                .response();
    }

    /** Returns the id of the last one. */
    private static String append(AuditLogFixture.Project to, String... records) {
        String id = "";
        for (String record : records) {
            id = to.request()
                    .contentType("application/json")
                    .body(record.replace('\'', '"'))
                    .post(AuditLogFixture.LOGS)
                    .then()
                    .statusCode(201)
                    .extract()
                    .path("id");
        }
        return id;
    }
}
