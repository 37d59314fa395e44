package dev.annals.edges.viewer;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A link shows the records that it was made for, on every way out, and nothing else. */
@QuarkusTest
@Timeout(60)
class ViewerLinkTest extends ProjectTest {

    private static final String LOGS = AuditLogFixture.LOGS;
    private static final String LINKS = "/v1/viewer-links";
    /** In every record that the link does not show. */
    private static final String SECRET = "not_for_you";

    @TestHTTPResource("/")
    URI service;

    private String maker;
    private String own;
    private String foreign;

    @BeforeEach
    void appendRecordsOfSeveral() {
        maker = log.newToken(project.id(), "link");
        own = UUID.randomUUID().toString();
        foreign = UUID.randomUUID().toString();
        append(
                """
                {"id": "%s", "action": "own", "subject": {"id": "c-1", "name": "One"}, "actor": {"id": "a-1"}}""".formatted(own),
                """
                {"id": "%s", "action": "%s", "subject": {"id": "c-2", "name": "c-1"}, "actor": {"id": "a-1"}}""".formatted(foreign, SECRET),
                """
                {"action": "%s", "subject": {"id": "c-11", "type": "c-1"}, "message": "c-1"}""".formatted(SECRET),
                """
                {"action": "%s", "actor": {"id": "c-1", "name": "c-1"}}""".formatted(SECRET),
                """
                {"action": "%s"}""".formatted(SECRET),
                """
                {"action": "own", "subject": {"id": "c-1"}, "actor": {"id": "a-2"}}""");
    }

    private void append(String... records) {
        project.request()
                .contentType("application/json")
                .body(AuditLogFixture.batch(records))
                .post(AuditLogFixture.BATCH)
                .then()
                .statusCode(201);
    }

    private Response make(String body) {
        return with(maker).contentType("application/json").body(body).post(LINKS);
    }

    private String link(String body) {
        String url = make(body).then().statusCode(201).extract().path("url");
        assertThat(url).contains("#token=annals_");
        return url.substring(url.indexOf("#token=") + 7);
    }

    private static RequestSpecification with(String token) {
        return given().urlEncodingEnabled(false).auth().preemptive().oauth2(token);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "?order=desc",
                "?limit=1",
                "?subject=c-1",
                "?start=2000-01-01T00:00:00Z",
                "?action=own",
                "?recorded_by=role:x",
                "?cursor=0&wait=1"
            })
    void pagesHaveItsRecordsAlone(String query) {
        String link = link("{\"subject_id\": \"c-1\"}");
        String next = LOGS + query;
        int pages = 0;
        while (next != null) {
            Response page = with(link).get(next);
            assertThat(page.statusCode()).isEqualTo(200);
            assertThat(page.asString()).doesNotContain(SECRET);
            next = page.path("next");
            assertThat(pages++).isLessThan(20);
        }
    }

    @Test
    void filtersApplyInAdditionToTheLinksOwn() {
        String link = link("{\"subject_id\": \"c-1\"}");
        with(link).get(LOGS).then().body("results", hasSize(2));
        with(link).get(LOGS + "?actor=a-2").then().body("results", hasSize(1));
        with(link).get(LOGS + "?subject=c-2").then().statusCode(200).body("results", hasSize(0));
        with(link).get(LOGS + "?action=" + SECRET).then().body("results", hasSize(0));
        with(link("{\"actor_id\": \"a-1\", \"subject_id\": \"c-1\"}"))
                .get(LOGS)
                .then()
                .body("results", hasSize(1));
        with(link("{\"actor_id\": \"c-1\"}")).get(LOGS).then().body("results", hasSize(1));
        with(link("{\"subject_id\": \"One\"}")).get(LOGS).then().body("results", hasSize(0));
        with(link).get(LOGS + "?q=c-1").then().body("results", hasSize(2));
        with(link).get(LOGS + "?q=c-2").then().body("results", hasSize(0));
    }

    @Test
    void aLinkDoesNotOpenRecordsOfOthers() {
        String link = link("{\"subject_id\": \"c-1\"}");
        with(link).get(LOGS + "/" + own).then().statusCode(200).body("action", equalTo("own"));
        Response hidden = with(link).get(LOGS + "/" + foreign);
        Response missing = with(link).get(LOGS + "/" + UUID.randomUUID());
        assertThat(hidden.statusCode()).isEqualTo(404).isEqualTo(missing.statusCode());
        assertThat(hidden.asString()).isEqualTo(missing.asString());
    }

    @Test
    void exportsHaveItsRecordsAlone() {
        String link = link("{\"subject_id\": \"c-1\"}");
        for (String format : List.of("ndjson", "csv", "cloudevents", "ocsf")) {
            String body = with(link)
                    .get(LOGS + "/export?format=" + format)
                    .then()
                    .statusCode(200)
                    .extract()
                    .asString();
            assertThat(body).contains(own).doesNotContain(SECRET);
        }
    }

    @Test
    void streamsAndLongPollsHaveItsRecordsAloneAndEndWithTheTokenThatMadeIt() throws Exception {
        String link = link("{\"subject_id\": \"c-1\"}");
        HttpResponse<InputStream> stream = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.resolve(LOGS + "/stream"))
                                .header("Authorization", "Bearer " + link)
                                .header("Accept", "text/event-stream")
                                .build(),
                        HttpResponse.BodyHandlers.ofInputStream());
        try (BufferedReader events = new BufferedReader(new InputStreamReader(stream.body(), StandardCharsets.UTF_8))) {
            assertThat(readTo(events, "\"sequence_id\":6")).doesNotContain(SECRET);
            append("{\"action\": \"" + SECRET + "\"}", "{\"action\": \"own\", \"subject\": {\"id\": \"c-1\"}}");
            assertThat(readTo(events, "\"sequence_id\":8")).doesNotContain(SECRET);
            String polled = with(link).get(LOGS + "?cursor=6&wait=10").asString();
            assertThat(polled).contains("\"sequence_id\":8").doesNotContain(SECRET);

            String id = with(maker).get("/v1/whoami").path("token_id");
            with(AuditLogFixture.ADMIN_TOKEN)
                    .delete("/v1/projects/" + project.id() + "/tokens/" + id)
                    .then()
                    .statusCode(204);
            Await.until("the link has ended", () -> with(link).get(LOGS).statusCode() == 401);
            Await.until("the stream has ended", () -> hasEnded(events));
        }
    }

    @Test
    void theStreamOfALinkToAProjectEndsWhenTheLinkIsRevoked() throws Exception {
        maker = log.newToken(project.id(), "link", "read");
        Response made = make("{\"whole_project\": true}");
        String link = made.<String>path("url").replaceAll(".*#token=", "");
        HttpResponse<InputStream> stream = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.resolve(LOGS + "/stream"))
                                .header("Authorization", "Bearer " + link)
                                .header("Accept", "text/event-stream")
                                .build(),
                        HttpResponse.BodyHandlers.ofInputStream());
        try (BufferedReader events = new BufferedReader(new InputStreamReader(stream.body(), StandardCharsets.UTF_8))) {
            assertThat(readTo(events, "\"sequence_id\":6")).contains(SECRET);
            with(AuditLogFixture.ADMIN_TOKEN)
                    .delete("/v1/projects/" + project.id() + "/tokens/" + made.path("id"))
                    .then()
                    .statusCode(204);
            Await.until("the stream has ended", () -> hasEnded(events));
            assertThat(with(link).get(LOGS).statusCode()).isEqualTo(401);
        }
    }

    private static boolean hasEnded(BufferedReader events) {
        try {
            return events.readLine() == null;
        } catch (java.io.IOException cutOff) {
            return true;
        }
    }

    private static String readTo(BufferedReader events, String end) throws Exception {
        StringBuilder read = new StringBuilder();
        while (read.indexOf(end) < 0) {
            read.append(events.readLine()).append('\n');
        }
        return read.toString();
    }

    /** A new operation is refused unless it says that it keeps to what links show. */
    @Test
    void everyOtherWayOutIsRefused() {
        String link = link("{\"subject_id\": \"c-1\"}");
        for (String path : List.of(
                LOGS + "?proof=6",
                LOGS + "/statistics",
                LOGS + "/suggestions?field=action",
                LOGS + "/log",
                LOGS + "/log/consistency?from=0&to=1",
                LOGS + "/log/1/checkpoint",
                LOGS + "/log/1/tile/0/000.p/1",
                LOGS + "/log/1/tile/entries/000.p/1",
                LOGS + "/" + own + "/proof",
                "/v1/sequences/any",
                "/v1/projects",
                "/v1/projects/" + project.id(),
                "/v1/projects/" + project.id() + "/tokens",
                "/v1/whoami")) {
            Response answer = with(link).get(path);
            assertThat(answer.statusCode()).as(path).isEqualTo(403);
            assertThat(answer.asString()).doesNotContain(SECRET, project.id().toString());
        }
        with(link)
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(LOGS)
                .then()
                .statusCode(403);
        with(link)
                .contentType("application/json")
                .body("{\"subject_id\": \"c-2\"}")
                .post(LINKS)
                .then()
                .statusCode(403);
    }

    @Test
    void aLinkToAProjectReadsAllOfItAndDoesWhatItsCapabilitiesSay() {
        maker = log.newToken(project.id(), "link", "read", "stream");
        for (String capabilities : List.of("read", "read, export", "read, streams", "export, streams, read")) {
            String link = link("{\"whole_project\": true, \"capabilities\": [\"%s\"]}"
                    .formatted(capabilities.replace(", ", "\", \"")));
            with(link).get(LOGS).then().statusCode(200).body("results", hasSize(6));
            with(link).get(LOGS + "/" + foreign).then().statusCode(200);
            with(link)
                    .get(LOGS + "/statistics?start=2026-01-01&end=2026-02-01&by=action")
                    .then()
                    .statusCode(200);
            with(link).get(LOGS + "/suggestions?field=metadata").then().statusCode(200);
            assertThat(with(link).get(LOGS + "/export").statusCode())
                    .as(capabilities)
                    .isEqualTo(capabilities.contains("export") ? 200 : 403);
            assertThat(with(link).get("/v1/streams").statusCode())
                    .as(capabilities)
                    .isEqualTo(capabilities.contains("streams") ? 200 : 403);
            assertThat(with(link).get("/v1/alerts").statusCode()).isEqualTo(403);
        }
        make("{\"whole_project\": true}")
                .then()
                .statusCode(201)
                .body("capabilities", equalTo(List.of("read")))
                .body("whole_project", equalTo(true))
                .body("url", containsString("/?project=" + project.id() + "#token=annals_"));
    }

    @Test
    void aLinkToAProjectDoesNoMoreThanTheTokenThatMakesIt() {
        String all = "{\"whole_project\": true, \"capabilities\": [\"read\", \"streams\"]}";
        assertThat(make("{\"whole_project\": true}").statusCode()).isEqualTo(403);
        maker = log.newToken(project.id(), "link", "read");
        assertThat(make("{\"whole_project\": true}").statusCode()).isEqualTo(201);
        assertThat(make(all).statusCode()).isEqualTo(403);
        maker = log.newToken(project.id(), "link", "stream");
        assertThat(make(all).statusCode()).isEqualTo(403);
        maker = link("{\"subject_id\": \"c-1\"}");
        assertThat(make(all).statusCode()).isEqualTo(403);
    }

    /** The tests' service allows its operator's streams to 127.0.0.1. */
    @Test
    void aStreamOfALinkGoesToPublicAddressesAloneAlsoWhereTheOperatorsMayBePrivate() throws Exception {
        maker = log.newToken(project.id(), "link", "read", "stream");
        String link = link("{\"whole_project\": true, \"capabilities\": [\"read\", \"streams\"]}");
        for (String url : List.of(
                "http://127.0.0.1:9/",
                "https://127.0.0.1/",
                "https://localhost/",
                "https://[::1]/",
                "https://10.0.0.1/",
                "https://169.254.169.254/latest/meta-data/",
                "https://[::ffff:127.0.0.1]/",
                "https://2130706433/")) {
            assertThat(stream(link, url).statusCode()).as(url).isEqualTo(422);
        }
        assertThat(stream(link, "https://sink.invalid/").statusCode()).isEqualTo(201);
        assertThat(log.number(onlyPublic())).isEqualTo(1);
        with(link).post("/v1/streams/s/test").then().statusCode(200).body("outcome", equalTo("failed"));
        with(link).get("/v1/streams").then().body("streams", hasSize(1));
        with(link).delete("/v1/streams/s").then().statusCode(204);
    }

    @Test
    void aLinkKnowsOnlyTheStreamsThatLinksMade() throws Exception {
        maker = log.newToken(project.id(), "link", "read", "stream");
        String link = link("{\"whole_project\": true, \"capabilities\": [\"read\", \"streams\"]}");
        assertThat(stream(maker, "http://127.0.0.1:9/").statusCode()).isEqualTo(201);
        assertThat(log.number(onlyPublic())).isZero();

        assertThat(stream(link, "https://sink.invalid/").statusCode()).isEqualTo(403);
        with(link).get("/v1/streams").then().statusCode(200).body("streams", hasSize(0));
        for (String path : List.of("", "/dead-letters", "/feeds")) {
            with(link).get("/v1/streams/s" + path).then().statusCode(404);
        }
        for (String path : List.of("/pause", "/resume", "/test")) {
            with(link).post("/v1/streams/s" + path).then().statusCode(404);
        }
        with(link)
                .contentType("application/json")
                .body("{\"cursor\": \"0\"}")
                .post("/v1/streams/s/rewind")
                .then()
                .statusCode(404);
        with(link).delete("/v1/streams/s").then().statusCode(404);
        with(maker).delete("/v1/streams/s").then().statusCode(204);
        assertThat(stream(link, "https://sink.invalid/").statusCode()).isEqualTo(201);
        with(maker).get("/v1/streams/s").then().statusCode(200);
    }

    /** In the transaction that ends them. */
    @ParameterizedTest
    @CsvSource({
        "link revoked,          The link that set the stream was revoked.",
        "maker revoked,         The token that made the stream's link was revoked.",
        "maker rotated revoked, The token that made the stream's link was revoked.",
        "successor revoked,     The token that made the stream's link was revoked.",
        "maker expired,         The token that made the stream's link has expired."
    })
    void aStreamOfALinkIsPausedWithTheLinkAndWithTheTokenThatMadeIt(String end, String reason) throws Exception {
        maker = end.equals("maker expired") ? shortToken() : log.newToken(project.id(), "link", "read", "stream");
        Response made = makeStreamsLink();
        String makerId = with(maker).get("/v1/whoami").path("token_id");
        assertThat(stream(tokenOf(made), "https://sink.invalid/").statusCode()).isEqualTo(201);
        with(log.newToken(project.id(), "stream"))
                .get("/v1/streams/s")
                .then()
                .body("link.id", equalTo(made.path("id")))
                .body("link.issued_by", equalTo(makerId))
                .body("pause_reason", nullValue());

        switch (end) {
            case "link revoked" -> revoke(made.path("id"));
            case "maker revoked" -> revoke(makerId);
            case "maker rotated revoked" -> {
                String unused = rotate(makerId);
                revoke(makerId);
            }
            case "successor revoked" -> {
                String successor = rotate(makerId);
                awaitExpiry(makerId);
                assertThat(streamState()).isEqualTo("null null");
                revoke(successor);
            }
            default -> awaitExpiry(makerId);
        }

        assertThat(streamState()).isEqualTo("paused " + reason);
        assertThat(log.text(
                        "select metadata -> 'after' ->> 'pause_reason' from annals.feed where project_id = annals.administration()"
                                + " and action = 'annals.stream.pause' and metadata -> 'after' ->> 'project_id' = '"
                                + project.id() + "'"))
                .isEqualTo(reason);
        String operator = log.newToken(project.id(), "stream");
        with(operator).post("/v1/streams/s/resume").then().statusCode(200).body("state", not("paused"));
    }

    @Test
    void aLinkThatResumesAStreamAnswersForIt() throws Exception {
        maker = log.newToken(project.id(), "link", "read", "stream");
        Response first = makeStreamsLink();
        assertThat(stream(tokenOf(first), "https://sink.invalid/").statusCode()).isEqualTo(201);
        revoke(first.path("id"));
        Response second = makeStreamsLink();
        with(tokenOf(second))
                .post("/v1/streams/s/resume")
                .then()
                .statusCode(200)
                .body("pause_reason", nullValue())
                .body("link.id", equalTo(second.path("id")));
        revoke(second.path("id"));
        assertThat(streamState()).startsWith("paused ");
    }

    private String shortToken() {
        return with(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"scopes\": [\"link\", \"read\", \"stream\"], \"expires_at\": \""
                        + Instant.now().plusSeconds(5) + "\"}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .then()
                .statusCode(201)
                .extract()
                .path("token");
    }

    private Response makeStreamsLink() {
        return make("{\"whole_project\": true, \"capabilities\": [\"read\", \"streams\"]}");
    }

    private static String tokenOf(Response link) {
        return link.<String>path("url").replaceAll(".*#token=", "");
    }

    private void revoke(String id) {
        with(AuditLogFixture.ADMIN_TOKEN)
                .delete("/v1/projects/" + project.id() + "/tokens/" + id)
                .then()
                .statusCode(204);
    }

    private String rotate(String id) {
        return with(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"overlap_seconds\": 0}")
                .post("/v1/projects/" + project.id() + "/tokens/" + id + "/rotate")
                .then()
                .statusCode(201)
                .extract()
                .path("id");
    }

    /** The service also looks for expired tokens, every few seconds. */
    private void awaitExpiry(String id) throws Exception {
        log.run("select pg_sleep_until(expires_at) from annals.access_token where id = '" + id + "'");
        log.run("select annals.expire_tokens(1000)");
        Await.until(
                "the expiry is noted",
                () -> log.number("select count(expired_at) from annals.access_token where id = '" + id + "'") == 1);
    }

    private String streamState() throws Exception {
        return log.text(
                "select concat_ws(' ', case when paused_at is null then 'null' else 'paused' end, coalesce(pause_reason, 'null'))"
                        + " from annals.stream where project_id = '" + project.id() + "'");
    }

    private String onlyPublic() {
        return "select count(*) from annals.stream where only_public and project_id = '" + project.id() + "'";
    }

    private static Response stream(String token, String url) {
        return with(token)
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + url + "\", \"secret\": \"whsec_"
                        + "A".repeat(32) + "\"}, \"start\": \"9000-01-01\"}")
                .put("/v1/streams/s");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"whole_project\": false}",
                "{\"whole_project\": \"true\"}",
                "{\"whole_project\": true, \"subject_id\": \"a\"}",
                "{\"whole_project\": true, \"capabilities\": []}",
                "{\"whole_project\": true, \"capabilities\": \"read\"}",
                "{\"whole_project\": true, \"capabilities\": {\"a\": \"read\"}}",
                "{\"whole_project\": true, \"capabilities\": [\"export\"]}",
                "{\"whole_project\": true, \"capabilities\": [\"read\", \"read\"]}",
                "{\"whole_project\": true, \"capabilities\": [\"read\", \"write\"]}",
                "{\"subject_id\": \"a\", \"capabilities\": [\"read\", \"streams\"]}",
                "{\"subject_id\": null}",
                "{\"subject_id\": \"\"}",
                "{\"subject_id\": \" \"}",
                "{\"subject_id\": 1}",
                "{\"subject_id\": \"a\", \"expires_in_seconds\": 86401}",
                "{\"subject_id\": \"a\", \"expires_in_seconds\": 59}",
                "{\"subject_id\": \"a\", \"expires_in_seconds\": 1e99}",
                "{\"subject_id\": \"a\", \"scopes\": [\"read\"]}"
            })
    void aLinkWithoutAFilterOrAnEndIsNotMade(String body) {
        assertThat(make(body).statusCode()).isEqualTo(422);
    }

    @Test
    void noTokenCanHaveTheScopeOfALink() {
        with(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"scopes\": [\"view\"]}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .then()
                .statusCode(422);
        String id = make("{\"subject_id\": \"c-1\"}").path("id");
        with(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"overlap_seconds\": 0}")
                .post("/v1/projects/" + project.id() + "/tokens/" + id + "/rotate")
                .then()
                .statusCode(409);
    }

    @Test
    void theEventDoesNotSayWhoseRecordsItShows() throws Exception {
        String subject = "person-" + UUID.randomUUID();
        String id = make("{\"subject_id\": \"" + subject + "\"}").path("id");
        assertThat(log.number("select count(*) from annals.feed where action = 'annals.token.link' and subject_id = '"
                        + id + "' and metadata #>> '{after,filter_digest}' is not null"))
                .isEqualTo(1);
        assertThat(log.number("select count(*) from annals.feed where strpos(feed::text, '" + subject + "') > 0"))
                .isZero();
        with(AuditLogFixture.ADMIN_TOKEN)
                .delete("/v1/projects/" + project.id() + "/tokens/" + id)
                .then()
                .statusCode(204);
        assertThat(log.number(
                        "select count(*) from annals.access_token where filter ->> 'subject_id' = '" + subject + "'"))
                .isZero();
    }
}
