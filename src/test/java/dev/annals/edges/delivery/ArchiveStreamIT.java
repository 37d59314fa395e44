package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Retention removes what the store of an archive stream has confirmed, and nothing else. */
@Slow
class ArchiveStreamIT {

    private static final String STREAM = "/v1/streams/archive";
    private static final String CHECK_VIOLATION = "23514";
    private static final String INSUFFICIENT_PRIVILEGE = "42501";

    @TempDir
    Path directory;

    private final DatabaseUrl database = TestDatabase.createDatabase();
    private final SqlFixture log = SqlFixture.on(database);
    private ServiceProcess service;
    private ObjectStore store;
    private Project project;

    @BeforeEach
    void start() throws Exception {
        store = new ObjectStore(directory);
        service = StreamingService.start(
                database, "ANNALS_RETENTION_INTERVAL", "200ms", "ANNALS_STREAMS_OBJECT_AGE", "1s");
        project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        log.run(
                "select annals.require_archive('" + project.id() + "', true)",
                "select annals.set_retention('" + project.id() + "', 30)");
        appendOld(project.id(), 300);
    }

    @AfterEach
    void stop() {
        service.close();
        store.close();
    }

    private void appendOld(UUID to, int count) throws Exception {
        log.run("insert into annals.audit_record (project_id, action, recorded_at, recorded_by_role) select '" + to
                + "', 'act', clock_timestamp() - interval '40 days', 'writer' from generate_series(1, " + count + ")");
    }

    private static RequestSpecification as(String token) {
        return given().header("Authorization", "Bearer " + token).contentType("application/json");
    }

    private Response set(String token, String bucket, String more) {
        return as(token)
                .body("{\"sink\": {\"type\": \"s3\", \"url\": \"" + store.url(bucket) + "\", \"secret\": \""
                        + ObjectStore.KEYS + "\"}" + more + "}")
                .put(service.uri(STREAM));
    }

    private Response setArchive(String bucket) {
        return set(AuditLogFixture.ADMIN_TOKEN, bucket, ", \"all_projects\": true, \"archive\": true");
    }

    private void post(String verb, String body) {
        as(AuditLogFixture.ADMIN_TOKEN)
                .body(body)
                .post(service.uri(STREAM + verb))
                .then()
                .statusCode(200);
    }

    private void rewind(long to) {
        post("/rewind", "{\"cursor\": \"" + to + "\", \"project_id\": \"" + project.id() + "\"}");
    }

    /** A number of the stream in the project's feed. */
    private long progress(String column) throws Exception {
        return log.number("select split_part(max(" + column
                + "::text), '-', 1)::bigint from annals.stream_progress where project_id = '" + project.id() + "'");
    }

    private void awaitProgress(String column, long expected) throws Exception {
        Await.until(column + " is " + expected, () -> progress(column) == expected);
    }

    private long horizon(Project of) throws Exception {
        return log.number("select annals.horizon('" + of.id() + "')");
    }

    private void awaitHorizon(long expected) throws Exception {
        Await.until("the records up to " + expected + " are removed", () -> horizon(project) >= expected);
        assertThat(horizon(project)).isEqualTo(expected);
    }

    /** A round of retention goes by the projects in the order of their ids, which is that of their creation. */
    private void assertRetentionWaitsAt(long expected) throws Exception {
        Await.until(
                "only an archive is missing",
                () -> "t".equals(log.text("select annals.awaits_archive('" + project.id() + "')")));
        Project next = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read");
        appendOld(next.id(), 1);
        log.run("select annals.set_retention('" + next.id() + "', 30)");
        Await.until("the next project had its turn", () -> horizon(next) == 1);
        assertThat(horizon(project)).isEqualTo(expected);
    }

    private List<Long> stored(int generation) throws IOException {
        try (Stream<Path> all = Files.walk(store.bucket.resolve(project.id().toString()))) {
            return S3SinkTest.ids(all.filter(Files::isRegularFile)
                    .filter(file -> file.getParent().endsWith("%06d".formatted(generation)))
                    .sorted()
                    .toList());
        }
    }

    private static List<Long> range(long from, long to) {
        return LongStream.rangeClosed(from, to).boxed().toList();
    }

    @Test
    void recordsStayUntilTheStoreHasConfirmedThem() throws Exception {
        assertRetentionWaitsAt(0);
        store.kill();
        setArchive("bucket").then().statusCode(201).body("archive", equalTo(true));
        Await.until("the delivery fails", () -> progress("failures") > 0);
        assertRetentionWaitsAt(0);
        store.start();
        post("/resume", "");
        awaitHorizon(300);
        assertThat(stored(0)).isEqualTo(range(1, 300));
        as(AuditLogFixture.ADMIN_TOKEN)
                .get(service.uri(STREAM + "/feeds?limit=200"))
                .then()
                .body("feeds.find { it.project_id == '" + project.id() + "' }.archived_through", equalTo(300));
        assertThat(log.texts("select metadata #>> '{after,archive}' from annals.feed where project_id ="
                        + " annals.administration() and action = 'annals.stream.set'"))
                .containsExactly("true");
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .isEmpty();
    }

    @Test
    void whatTheStreamSkipsOrAnotherStoreHasDoesNotCount() throws Exception {
        setArchive("bucket").then().statusCode(201);
        awaitHorizon(300);
        post("/pause", "");
        appendOld(project.id(), 100);
        assertRetentionWaitsAt(300);
        rewind(350);
        post("/resume", "");
        awaitProgress("cursor", 400);
        appendOld(project.id(), 100);
        awaitProgress("cursor", 500);
        assertThat(progress("archived_through")).isEqualTo(300);
        assertRetentionWaitsAt(300);
        rewind(300);
        awaitHorizon(500);

        post("/pause", "");
        appendOld(project.id(), 10);
        Files.createDirectories(store.buckets().resolve("second"));
        setArchive("second").then().statusCode(200);
        assertThat(progress("archived_through")).isZero();
        assertRetentionWaitsAt(500);
        post("/resume", "");
        awaitHorizon(510);

        post("/pause", "");
        appendOld(project.id(), 10);
        as(AuditLogFixture.ADMIN_TOKEN).delete(service.uri(STREAM)).then().statusCode(204);
        assertRetentionWaitsAt(510);
    }

    /** As after a crash between the object and the note of it. */
    @Test
    void whatOnlyTheStoreClaimsToHaveIsDeliveredAgain() throws Exception {
        log.run("select annals.set_retention('" + project.id() + "', null)");
        setArchive("bucket").then().statusCode(201);
        awaitProgress("archived_through", 300);
        log.run("update annals.stream_progress set cursor = '100', archived_through = 100 where project_id = '"
                + project.id() + "'");
        appendOld(project.id(), 5);
        awaitProgress("archived_through", 305);
        assertThat(stored(1)).isEqualTo(range(101, 305));
    }

    @Test
    void onlyAnAdministratorMakesAStreamAnArchive() throws Exception {
        for (String more : List.of(
                ", \"archive\": true",
                ", \"archive\": true, \"all_projects\": true, \"action\": \"act\"",
                ", \"archive\": true, \"all_projects\": true, \"on_refusal\": \"dead_letter\"",
                ", \"archive\": true, \"all_projects\": true, \"format\": \"ocsf\"",
                ", \"archive\": 1")) {
            for (String token : List.of(project.token(), AuditLogFixture.ADMIN_TOKEN)) {
                set(token, "bucket", more).then().statusCode(422).body("errors[0].pointer", equalTo("/archive"));
            }
        }
        set(project.token(), "bucket", ", \"archive\": true, \"all_projects\": true")
                .then()
                .statusCode(422)
                .body("errors[0].pointer", equalTo("/all_projects"));
        String setting =
                "select annals.set_stream(%s, gen_random_uuid(), 'a', '%s', 'u', null, 'json', '{}', 'stop', 5, %s,"
                        + " true, '0', 9)";
        String own = "'" + project.id() + "'";
        assertThat(log.as("annals_service", setting.formatted(own, "s3", "false")))
                .isEqualTo(CHECK_VIOLATION);
        assertThat(log.as("annals_service", setting.formatted(own, "s3", "true")))
                .isEqualTo(INSUFFICIENT_PRIVILEGE);
        assertThat(log.as("annals_service", setting.formatted("annals.administration()", "webhook", "true")))
                .isEqualTo(CHECK_VIOLATION);

        // A tenant's own stream to the same store counts for nothing.
        set(project.token(), "bucket", "").then().statusCode(201).body("archive", equalTo(false));
        awaitProgress("cursor", 300);
        assertThat(progress("archived_through")).isZero();
        assertRetentionWaitsAt(0);
    }
}
