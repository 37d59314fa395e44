package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.empty;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.notNullValue;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A webhook gets every record of the feed, in its order, whatever it answers in between. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class WebhookTest extends OneStream {

    private static final String STREAM = "/v1/streams/siem";

    private Receiver receiver;

    WebhookTest() {
        super(STREAM);
    }

    @BeforeEach
    void makeAProjectAndAReceiver() throws Exception {
        project = log.newProject("read", "write", "stream");
        receiver = new Receiver();
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        project.wrongRequest().delete(STREAM);
        receiver.checkOrder();
        receiver.close();
        log.checkFeed(project.id());
    }

    @Override
    void append(int count) throws Exception {
        log.run("insert into annals.audit_record (project_id, action, outcome, message) select '" + project.id()
                + "', case n % 2 when 0 then 'even' else 'odd' end, 'success', 'Record \"' || n || '\"\n</script>'"
                + " from generate_series(1, " + count + ") as n");
    }

    private Response set(String more) {
        return project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + receiver.url() + "\", \"secret\": \""
                        + Receiver.SECRET + "\"}" + more + "}")
                .put(STREAM);
    }

    private void awaitState(String state) throws Exception {
        Await.until("the stream is " + state, () -> get().path("state").equals(state));
    }

    private void awaitTaken(int count) throws Exception {
        Await.until(count + " records are taken", () -> receiver.taken().size() >= count);
        assertThat(receiver.taken())
                .isEqualTo(LongStream.rangeClosed(1, count).boxed().toList());
    }

    @Test
    void itGetsEveryRecordSignedAndInOrderAndTheStreamSaysHowFarItIs() throws Exception {
        append(250);
        set("").then()
                .statusCode(201)
                .body("sink.has_secret", equalTo(true))
                .body("sink.secret", nullValue())
                .body("state", equalTo("active"));
        awaitTaken(250);
        append(70);
        awaitTaken(320);
        awaitLag(0);
        get().then()
                .body("delivered", equalTo(320))
                .body("failures", equalTo(0))
                .body("delivered_at", notNullValue())
                .body("cursor", containsString("320-"));
        Receiver.Delivered first = receiver.requests.get(0);
        assertThat(first.id()).isEqualTo(project.id() + ":1-100");
        assertThat(first.contentType()).isEqualTo("application/json");
        assertThat(first.body().path("project_id").asText())
                .isEqualTo(project.id().toString());
        assertThat(first.body().path("records").path(0).path("message").asText())
                .isEqualTo("Record \"1\"\n</script>");
        assertThat(receiver.mostOpen).hasValue(1);
        project.request().get("/v1/streams").then().statusCode(200).body("streams.name", equalTo(List.of("siem")));
    }

    @Test
    void aFailedBatchIsSentAgainUntilItIsAcknowledged() throws Exception {
        append(30);
        int[] answers = {500, 503, 408, 425, 429, 502};
        AtomicInteger calls = new AtomicInteger();
        receiver.behaviour = request -> calls.get() < answers.length
                ? Receiver.Answer.of(answers[calls.getAndIncrement()])
                : Receiver.Answer.OK;
        set("").then().statusCode(201);
        awaitTaken(30);
        assertThat(receiver.requests).hasSize(7);
        assertThat(receiver.requests.stream().map(Receiver.Delivered::id).distinct())
                .containsExactly(project.id() + ":1-30");
        awaitState("active");
        get().then().body("last_error", containsString("502")).body("failures", equalTo(0));
    }

    @Test
    void itIsLeftAloneForAsLongAsItAsks() throws Exception {
        append(3);
        AtomicInteger calls = new AtomicInteger();
        receiver.behaviour = request -> calls.getAndIncrement() == 0
                ? new Receiver.Answer(429, Map.of("Retry-After", "2"), 0)
                : Receiver.Answer.OK;
        set("").then().statusCode(201);
        Await.until("it was asked", () -> calls.get() == 1);
        long asked = System.nanoTime();
        awaitState("failing");
        awaitTaken(3);
        assertThat(System.nanoTime() - asked).isGreaterThan(1_800_000_000L);
    }

    @Test
    void oneThatHangsIsGivenUpAndTriedAgainAndOneThatIsDownIsWaitedFor() throws Exception {
        append(5);
        AtomicInteger calls = new AtomicInteger();
        receiver.behaviour = request ->
                calls.getAndIncrement() == 0 ? new Receiver.Answer(204, Map.of(), 10_000) : Receiver.Answer.of(500);
        set("").then().statusCode(201);
        Await.until("it was tried again", () -> calls.get() >= 2);
        int port = receiver.port();
        receiver.close();
        Await.until("it is down", () -> "No connection can be made.".equals(get().path("last_error")));
        receiver = new Receiver(port);
        awaitTaken(5);
    }

    @Test
    void aSlowOneIsSentOneBatchAtATime() throws Exception {
        append(450);
        receiver.behaviour = request -> new Receiver.Answer(204, Map.of(), 150);
        set("").then().statusCode(201);
        awaitTaken(450);
        assertThat(receiver.mostOpen).hasValue(1);
        assertThat(receiver.requests).hasSize(5);
    }

    @Test
    void oneThatIsGoneStopsTheStreamAtOnceAndItGoesOnWhenItIsResumed() throws Exception {
        append(3);
        receiver.behaviour = request -> Receiver.Answer.of(410);
        set("").then().statusCode(201);
        awaitState("stopped");
        get().then().body("stop_reason", containsString("410"));
        assertThat(receiver.requests).hasSize(1);
        receiver.behaviour = request -> Receiver.Answer.OK;
        post("resume").then().statusCode(200).body("state", equalTo("active"));
        awaitTaken(3);
        assertThat(log.texts(
                        "select action from annals.feed where project_id = annals.administration() and subject_type ="
                                + " 'stream' and metadata #>> '{after,project_id}' = '" + project.id()
                                + "' order by sequence_id"))
                .containsExactly("annals.stream.set", "annals.stream.stop", "annals.stream.resume");
    }

    private static boolean has(Receiver.Delivered request, long sequenceId) {
        return request.sequenceIds().contains(sequenceId);
    }

    @Test
    void aRecordThatIsRefusedForGoodStopsTheStreamBeforeIt() throws Exception {
        append(20);
        receiver.behaviour = request -> Receiver.Answer.of(has(request, 7) ? 422 : 204);
        set(", \"max_refusals\": 3").then().statusCode(201);
        awaitState("stopped");
        assertThat(receiver.taken()).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
        assertThat(receiver.requests.stream()
                        .filter(request -> request.sequenceIds().equals(List.of(7L))))
                .hasSize(3);
        get().then().body("stop_reason", containsString("The record 7 was refused 3 times"));
    }

    @Test
    void orTheStreamPassesItByAndNotesIt() throws Exception {
        append(20);
        receiver.behaviour = request -> Receiver.Answer.of(has(request, 7) || has(request, 8) ? 400 : 204);
        set(", \"max_refusals\": 2, \"on_refusal\": \"dead_letter\"").then().statusCode(201);
        awaitLag(0);
        assertThat(receiver.taken())
                .isEqualTo(LongStream.rangeClosed(1, 20)
                        .filter(id -> id != 7 && id != 8)
                        .boxed()
                        .toList());
        get().then().body("dead_letters", equalTo(2)).body("state", equalTo("active"));
        Response letters = project.request().get(STREAM + "/dead-letters?limit=1");
        letters.then()
                .statusCode(200)
                .body("dead_letters.sequence_id", equalTo(List.of(7)))
                .body("dead_letters[0].reason", containsString("400"))
                .body("next", equalTo(7));
        project.request()
                .get(STREAM + "/dead-letters?after=7")
                .then()
                .body("dead_letters.sequence_id", equalTo(List.of(8)))
                .body("next", nullValue());
        project.request()
                .get(STREAM + "/feeds")
                .then()
                .statusCode(200)
                .body("feeds.project_id", equalTo(List.of(project.id().toString())))
                .body("feeds.dead_letters", equalTo(List.of(2)));
        receiver.requests.clear();
    }

    @Test
    void aRedirectIsNotFollowed() throws Exception {
        append(1);
        try (Receiver elsewhere = new Receiver()) {
            receiver.behaviour = request -> new Receiver.Answer(303, Map.of("Location", elsewhere.url()), 0);
            set(", \"max_refusals\": 1").then().statusCode(201);
            awaitState("stopped");
            get().then().body("stop_reason", containsString("Redirects are not followed"));
            assertThat(elsewhere.requests).isEmpty();
        }
    }

    @Test
    void oneThatIsPausedGetsNothingAndOneThatIsRewoundGetsItAgain() throws Exception {
        append(10);
        set("").then().statusCode(201);
        awaitTaken(10);
        awaitLag(0);
        post("pause").then().statusCode(200).body("state", equalTo("paused"));
        append(10);
        rewind("4").body("cursor", equalTo("4")).body("lag", equalTo(16)).body("state", equalTo("paused"));
        receiver.requests.clear();
        post("resume").then().statusCode(200);
        Await.until("the rest comes", () -> receiver.requests.size() == 1);
        assertThat(receiver.requests.get(0).sequenceIds())
                .isEqualTo(LongStream.rangeClosed(5, 20).boxed().toList());
        receiver.requests.clear();
    }

    @Test
    void aStreamTakesAQueryButNoneThatMovesOnWithTheClock() throws Exception {
        append(300);
        set(", \"q\": \"action:EV* -record OR action:even\", \"cursor\": \"100\"")
                .then()
                .statusCode(422)
                .body("errors[0].pointer", equalTo("/q"))
                .body("errors[0].detail", containsString("At character 20: "));
        set(", \"q\": \"last:24h\"").then().statusCode(422).body("errors[0].detail", containsString("occurred_at:"));
        set(", \"q\": \"action:EV* -(\\\"record 104\\\" OR outcome:denied)\", \"cursor\": \"100\"")
                .then()
                .statusCode(201);
        awaitLag(0);
        assertThat(receiver.requests.stream().flatMap(request -> request.sequenceIds().stream()))
                .isEqualTo(LongStream.rangeClosed(101, 300)
                        .filter(id -> id % 2 == 0 && id != 104)
                        .boxed()
                        .toList());
        receiver.requests.clear();
    }

    @Test
    void aStreamHasTheFiltersOfPagesAndTheFormatsOfExports() throws Exception {
        append(300);
        set(", \"action\": \"even\", \"format\": \"cloudevents\", \"cursor\": \"100\"")
                .then()
                .statusCode(201)
                .body("filter.action", equalTo("even"));
        awaitLag(0);
        get().then().body("delivered", equalTo(100));
        Receiver.Delivered first = receiver.requests.get(0);
        assertThat(first.contentType()).isEqualTo("application/cloudevents-batch+json");
        assertThat(first.body().path(0).path("specversion").asText()).isEqualTo("1.0");
        assertThat(first.body().path(0).path("sequence").asText()).endsWith("000102");
        set(", \"action\": \"even\", \"format\": \"ocsf\"").then().statusCode(200);
        append(2);
        awaitLag(0);
        assertThat(receiver.requests
                        .get(receiver.requests.size() - 1)
                        .body()
                        .path(0)
                        .path("class_uid")
                        .asInt())
                .isEqualTo(6003);
        receiver.requests.clear();
    }

    @Test
    void aTestSendsOneRecordAndShowsWhatTheSinkAnswers() throws Exception {
        set("").then().statusCode(201);
        post("test")
                .then()
                .statusCode(200)
                .body("outcome", equalTo("delivered"))
                .body("sequence_id", nullValue());
        append(5);
        awaitTaken(5);
        awaitLag(0);
        receiver.behaviour = request -> Receiver.Answer.of(418);
        post("pause").then().statusCode(200);
        append(1);
        post("test")
                .then()
                .statusCode(200)
                .body("outcome", equalTo("refused"))
                .body("answer", containsString("418"))
                .body("sequence_id", equalTo(6));
        get().then().body("lag", equalTo(1)).body("failures", equalTo(0));
        receiver.requests.clear();
    }

    @Test
    void theSameAgainChangesNothingAndAnotherUrlNeedsItsSecret() throws Exception {
        set("").then().statusCode(201);
        set("").then().statusCode(200);
        String withoutSecret = "{\"sink\": {\"type\": \"webhook\", \"url\": \"%s\"}}";
        project.request()
                .contentType("application/json")
                .body(withoutSecret.formatted(receiver.url()))
                .put(STREAM)
                .then()
                .statusCode(200);
        assertThat(log.number(
                        "select count(*) from annals.feed where project_id = annals.administration() and subject_type ="
                                + " 'stream' and metadata #>> '{after,project_id}' = '" + project.id() + "'"))
                .isEqualTo(1);
        Response refused = project.request()
                .contentType("application/json")
                .body(withoutSecret.formatted("http://127.0.0.1:1/"))
                .put(STREAM);
        assertProblem(refused.then().extract(), 422, "invalid-body");
        assertThat(pointers(refused.then().extract())).containsExactly("/sink/secret");
        assertThat(log.texts("select row_to_json(s)::text from annals.stream as s where project_id = '" + project.id()
                                + "'")
                        .get(0))
                .doesNotContain("MDEyMzQ1")
                .doesNotContain("303132333435");
        project.request().delete(STREAM).then().statusCode(204);
        assertProblem(project.request().get(STREAM).then().extract(), 404, "not-found");
        project.request().get("/v1/streams").then().body("streams", hasSize(0));
    }

    @Test
    void concurrentRequestsCreateOneStreamWithOneEvent() throws Exception {
        List<CompletableFuture<Integer>> answers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            answers.add(CompletableFuture.supplyAsync(() -> set("").statusCode()));
        }
        for (CompletableFuture<Integer> answer : answers) {
            assertThat(answer.get(30, TimeUnit.SECONDS)).isIn(200, 201);
        }
        project.request().get("/v1/streams").then().body("streams.name", equalTo(List.of("siem")));
        assertThat(log.number("select count(*) from annals.feed where project_id = annals.administration()"
                        + " and action = 'annals.stream.set' and subject_id = '" + get().path("id") + "'"))
                .isEqualTo(1);
    }

    @Test
    void itIsOnlyForItsOwnProject() throws Exception {
        set("").then().statusCode(201);
        AuditLogFixture.Project other = log.newProject("read", "write", "stream");
        other.request().get("/v1/streams").then().statusCode(200).body("streams", empty());
        other.request().get(STREAM).then().statusCode(404);
        other.request().delete(STREAM).then().statusCode(404);
        for (String verb : List.of("pause", "resume", "test")) {
            other.request().post(STREAM + "/" + verb).then().statusCode(404);
        }
        get().then().body("state", equalTo("active"));
    }

    @Test
    void aFeedThatWasSetBackStopsIt() throws Exception {
        append(10);
        set("").then().statusCode(201);
        awaitTaken(10);
        // The cursor of a record that another history of the feed had at this place.
        rewind("5-00000000");
        awaitState("stopped");
        assertThat(receiver.taken()).hasSize(10);
        assertThat(get().<String>path("stop_reason")).isNotBlank();
    }

    @Test
    void aProjectHasOnlySoManyStreams() throws Exception {
        String make = "select annals.set_stream('" + project.id()
                + "', gen_random_uuid(), '%s', 'webhook', 'https://example.org/', null, 'json', '{}', 'stop', 1, false, false, '0', 2)";
        log.run(make.formatted("one"), make.formatted("two"));
        assertThatThrownBy(() -> log.run(make.formatted("three"))).hasMessageContaining("has 2 streams");
        String delete = "select annals.delete_stream('" + project.id() + "', '%s')";
        log.run(delete.formatted("one"), delete.formatted("two"));
    }

    @Test
    void aSinkIsNowhereWhereTheOperatorDoesNotWantOne() {
        for (String url : List.of(
                "https://127.0.0.2/",
                "https://10.1.2.3/",
                "https://169.254.169.254/latest/meta-data",
                "https://[::1]/",
                "https://[::ffff:127.0.0.2]/",
                "https://[fe80::1]/",
                "https://0.0.0.0/",
                "https://2130706434/",
                "ftp://127.0.0.1/",
                "https://user:pass@127.0.0.1/",
                "nonsense")) {
            Response refused = project.wrongRequest()
                    .contentType("application/json")
                    .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + url + "\", \"secret\": \""
                            + Receiver.SECRET + "\"}}")
                    .put(STREAM);
            assertThat(refused.statusCode()).as(url).isEqualTo(422);
            assertThat(pointers(refused.then().extract())).as(url).containsExactly("/sink/url");
            refused.then().body("detail", not(containsString(Receiver.SECRET)));
        }
    }
}
