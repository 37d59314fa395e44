package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A stream of all projects has every record of every feed, in that feed's order. */
@Slow
class AllProjectsIT {

    private static final String STREAM = "/v1/streams/everything";
    private static final int RECORDS = 250;

    private final DatabaseUrl database = TestDatabase.createDatabase();
    private ServiceProcess service;
    private Receiver receiver;
    private final List<Project> projects = new ArrayList<>();

    @BeforeEach
    void start() throws Exception {
        receiver = new Receiver();
        service = StreamingService.start(database);
        addProject();
        addProject();
    }

    @AfterEach
    void stop() {
        service.close();
        receiver.close();
    }

    private Project addProject() throws Exception {
        Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        projects.add(project);
        append(project, RECORDS);
        return project;
    }

    private void append(Project project, int count) throws Exception {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("insert into annals.audit_record (project_id, action) select '" + project.id()
                    + "', 'act' from generate_series(1, " + count + ")");
        }
    }

    private static RequestSpecification as(String token) {
        return given().header("Authorization", "Bearer " + token);
    }

    private Response set(String token, String more) {
        return set(token, STREAM, more);
    }

    private Response set(String token, String path, String more) {
        return as(token)
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + receiver.url() + "\", \"secret\": \""
                        + Receiver.SECRET + "\"}" + more + "}")
                .put(service.uri(path));
    }

    private Response get(String path) {
        return as(AuditLogFixture.ADMIN_TOKEN).get(service.uri(STREAM + path));
    }

    private Response rewind(String body) {
        return as(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(body)
                .post(service.uri(STREAM + "/rewind"));
    }

    private void awaitAll() throws Exception {
        Await.until("all is delivered", () -> get("").path("lag").equals(0));
    }

    /** The received records of each project, in order. */
    private Map<UUID, List<Long>> delivered() {
        Map<UUID, List<Long>> delivered = new LinkedHashMap<>();
        for (Receiver.Delivered request : List.copyOf(receiver.requests)) {
            if (request.answer().status() / 100 == 2) {
                delivered
                        .computeIfAbsent(
                                UUID.fromString(
                                        request.body().path("project_id").asText()),
                                any -> new ArrayList<>())
                        .addAll(request.sequenceIds());
            }
        }
        return delivered;
    }

    private static List<Long> upTo(long last) {
        return LongStream.rangeClosed(1, last).boxed().toList();
    }

    @Test
    void everyFeedComesInItsOrderAlsoThoseOfLaterProjects() throws Exception {
        set(AuditLogFixture.ADMIN_TOKEN, ", \"all_projects\": true")
                .then()
                .statusCode(201)
                .body("all_projects", equalTo(true))
                .body("cursor", nullValue());
        awaitAll();
        Project later = addProject();
        append(projects.get(0), RECORDS);
        awaitAll();
        Map<UUID, List<Long>> delivered = delivered();
        assertThat(delivered.get(projects.get(0).id())).isEqualTo(upTo(2 * RECORDS));
        assertThat(delivered.get(projects.get(1).id())).isEqualTo(upTo(RECORDS));
        assertThat(delivered.get(later.id())).isEqualTo(upTo(RECORDS));
        // The administration's own feed is one of them.
        assertThat(delivered.keySet())
                .containsAll(List.of(projects.get(0).id(), projects.get(1).id(), later.id(), administration()));
        assertThat(receiver.faults).isEmpty();
        List<String> feeds = new ArrayList<>();
        String after = "";
        do {
            Response page = get("/feeds?limit=2" + after);
            page.then().statusCode(200);
            assertThat(page.<List<Integer>>path("feeds.lag")).containsOnly(0);
            feeds.addAll(page.path("feeds.project_id"));
            after = page.path("next") == null ? "" : "&after=" + page.path("next");
        } while (!after.isEmpty());
        assertThat(feeds)
                .doesNotHaveDuplicates()
                .hasSizeGreaterThanOrEqualTo(4)
                .endsWith(later.id().toString());
    }

    @Test
    void oneFeedIsSetToAnotherPlaceAndTheOthersStay() throws Exception {
        set(AuditLogFixture.ADMIN_TOKEN, ", \"all_projects\": true").then().statusCode(201);
        awaitAll();
        rewind("{\"cursor\": \"200\"}").then().statusCode(422).body("errors[0].pointer", equalTo("/cursor"));
        rewind("{\"cursor\": \"200\", \"project_id\": \"" + UUID.randomUUID() + "\"}")
                .then()
                .statusCode(404);
        receiver.requests.clear();
        rewind("{\"cursor\": \"200\", \"project_id\": \"" + projects.get(1).id() + "\"}")
                .then()
                .statusCode(200);
        awaitAll();
        Map<UUID, List<Long>> again = delivered();
        again.remove(administration());
        assertThat(again)
                .isEqualTo(Map.of(
                        projects.get(1).id(),
                        LongStream.rangeClosed(201, RECORDS).boxed().toList()));
        receiver.requests.clear();
        rewind("{\"cursor\": \"0\"}").then().statusCode(200);
        awaitAll();
        assertThat(delivered().get(projects.get(0).id())).isEqualTo(upTo(RECORDS));
        assertThat(delivered().get(projects.get(1).id())).isEqualTo(upTo(RECORDS));
    }

    private UUID administration() {
        return UUID.fromString(get("/feeds?limit=1").path("feeds[0].project_id"));
    }

    @Test
    void aRefusedRecordIsADeadLetterOfItsFeed() throws Exception {
        UUID refused = projects.get(0).id();
        receiver.behaviour =
                request -> request.body().path("project_id").asText().equals(refused.toString())
                                && request.sequenceIds().contains(7L)
                        ? Receiver.Answer.of(422)
                        : Receiver.Answer.OK;
        set(
                        AuditLogFixture.ADMIN_TOKEN,
                        ", \"all_projects\": true, \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(201);
        awaitAll();
        assertThat(delivered().get(refused)).hasSize(RECORDS - 1).doesNotContain(7L);
        assertThat(delivered().get(projects.get(1).id())).isEqualTo(upTo(RECORDS));
        get("").then().body("dead_letters", equalTo(1)).body("state", equalTo("active"));
        get("/dead-letters").then().statusCode(200).body("dead_letters", hasSize(0));
        get("/dead-letters?project_id=" + refused).then().body("dead_letters.sequence_id", equalTo(List.of(7)));
        get("/dead-letters?project_id=" + UUID.randomUUID()).then().statusCode(404);
        get("/dead-letters?project_id=7").then().statusCode(400);
    }

    /** New projects and changes of streams take the same locks: the second one waits, and neither fails. */
    @Test
    void projectsThatAreMadeWhileStreamsChangeAreFollowedByAll() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> work = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                work.add(threads.submit(() -> {
                    for (int n = 0; n < 20; n++) {
                        service.newProject(AuditLogFixture.ADMIN_TOKEN, "read");
                    }
                    return null;
                }));
                String path = "/v1/streams/s" + i;
                work.add(threads.submit(() -> {
                    for (int n = 0; n < 10; n++) {
                        assertThat(set(AuditLogFixture.ADMIN_TOKEN, path, ", \"all_projects\": true")
                                        .statusCode())
                                .isEqualTo(201);
                        assertThat(as(AuditLogFixture.ADMIN_TOKEN)
                                        .post(service.uri(path + "/pause"))
                                        .statusCode())
                                .isEqualTo(200);
                        if (n < 9) {
                            assertThat(as(AuditLogFixture.ADMIN_TOKEN)
                                            .delete(service.uri(path))
                                            .statusCode())
                                    .isEqualTo(204);
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> each : work) {
                each.get(60, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        try (Connection connection = database.connect()) {
            assertThat(SqlFixture.texts(
                            connection,
                            "select s.name || ' ' || p.id from annals.stream as s cross join annals.project as p"
                                    + " where not exists (select from annals.stream_progress as followed"
                                    + " where followed.stream_id = s.id and followed.project_id = p.id)"))
                    .isEmpty();
            assertThat(SqlFixture.texts(connection, "select count(*)::text from annals.stream"))
                    .containsExactly("2");
        }
    }

    @Test
    void onlyAdminsHaveThemAndAStreamStaysWhatItIs() throws Exception {
        set(projects.get(0).token(), ", \"all_projects\": true")
                .then()
                .statusCode(422)
                .body("errors[0].pointer", equalTo("/all_projects"));
        set(AuditLogFixture.ADMIN_TOKEN, ", \"all_projects\": true, \"cursor\": \"5\"")
                .then()
                .statusCode(422)
                .body("errors[0].pointer", equalTo("/cursor"));
        set(AuditLogFixture.ADMIN_TOKEN, "").then().statusCode(201).body("all_projects", equalTo(false));
        set(AuditLogFixture.ADMIN_TOKEN, ", \"all_projects\": true")
                .then()
                .statusCode(422)
                .body("errors[0].detail", containsString("delete it"));
        awaitAll();
        assertThat(delivered().keySet()).containsExactly(administration());
    }
}
