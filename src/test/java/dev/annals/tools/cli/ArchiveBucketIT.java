package dev.annals.tools.cli;

import static dev.annals.tools.cli.CommandResult.assertRefused;
import static dev.annals.tools.cli.CommandResult.succeed;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.edges.delivery.HttpExchange.Answer;
import dev.annals.edges.delivery.ObjectStore;
import dev.annals.edges.delivery.S3Credentials;
import dev.annals.edges.delivery.S3Requests;
import dev.annals.edges.delivery.S3Url;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The oldest records go into a bucket, then out of the database, and come back from the bucket, by the packaged program. */
@Slow
@Order(3)
@Timeout(300)
class ArchiveBucketIT {

    private static final int LIMIT_SECONDS = 120;
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    static Path directory;

    private static Vertx vertx;
    private static PackagedService service;
    private static ObjectStore store;
    private static Path keys;

    @TempDir
    Path folder;

    private Project project;
    private String vkey;
    private SqlFixture log;
    private String prefix;

    @BeforeAll
    static void start() throws Exception {
        vertx = Vertx.vertx();
        store = new ObjectStore(directory.resolve("store"));
        assertThat(requests("locked")
                        .send(
                                HttpMethod.PUT,
                                "",
                                Map.of(),
                                Map.of("x-amz-bucket-object-lock-enabled", "true"),
                                Buffer.buffer())
                        .await()
                        .indefinitely()
                        .status())
                .isEqualTo(200);
        keys = Files.writeString(directory.resolve("keys"), ObjectStore.KEYS);
        service = new PackagedService(directory.resolve("data"), Map.of("ANNALS_RETENTION_INTERVAL", "200ms"));
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
        if (store != null) {
            store.close();
        }
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @BeforeEach
    void makeProject() throws Exception {
        log = SqlFixture.on(service.database());
        project = service.newProject("read", "write");
        vkey = get("/v1/project-logs/log").get("vkeys").get(0).textValue();
        log.run(
                "select annals.require_archive('" + project.id() + "', true)",
                "select annals.set_retention('" + project.id() + "', 30)");
        prefix = "audit/project=" + project.id() + "/";
    }

    private static S3Requests requests(String bucket) {
        return new S3Requests(
                vertx,
                S3Url.parse(store.url(bucket)),
                S3Credentials.of(ObjectStore.KEYS),
                Duration.ofSeconds(LIMIT_SECONDS));
    }

    private JsonNode get(String path) throws Exception {
        HttpResponse<String> answer = CLIENT.send(
                HttpRequest.newBuilder(service.uri().resolve(path))
                        .header("Authorization", "Bearer " + project.token())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return Json.mapper().readTree(answer.body());
    }

    private ProcessBuilder archiving(String url, String... options) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("archive", "--vkey=" + vkey, "--to=" + url));
        arguments.addAll(List.of(options));
        if (Stream.of(options).noneMatch(option -> option.startsWith("--secret-file"))) {
            arguments.add("--secret-file=" + keys);
        }
        ProcessBuilder command = service.client(arguments.toArray(String[]::new));
        command.environment().put("ANNALS_TOKEN", project.token());
        command.environment().put("ANNALS_ADMIN_TOKEN", service.adminToken());
        return command;
    }

    private CommandResult restore(Path into, String... options) throws Exception {
        List<String> arguments =
                new ArrayList<>(List.of("archive", "restore", "--vkey=" + vkey, "--secret-file=" + keys));
        arguments.addAll(List.of(options));
        return CommandResult.run(Map.of("ANNALS_DATA_DIR", into.toString()), arguments);
    }

    /**
     * Appends records of a day, and waits until the log has them.
     *
     * @param random the characters in each that cannot be compressed much
     */
    private void append(String time, int count, int random) throws Exception {
        log.run("""
                insert into annals.audit_record (project_id, action, metadata, recorded_at, recorded_by_role)
                select '%s', 'act', jsonb_build_object('n', n, 'x', (
                    select string_agg(encode(sha512((n || ' ' || i || random())::bytea), 'base64'), '') from generate_series(1, %d / 88) as i)),
                  '%s'::timestamptz + n * interval '1 ms', 'writer'
                from generate_series(1, %d) as n""".formatted(project.id(), random, time, count));
        Await.until("the log has them", () -> {
            long head = log.number(
                    "select max(last_sequence_id) from annals.feed_segment where project_id = '" + project.id() + "'");
            return log.number("select count(*) from annals.projection_checkpoint where project_id = '" + project.id()
                            + "' and projection in ('log', 'statistics') and sequence_id = " + head)
                    == 2;
        });
    }

    private void awaitHorizon(long expected) throws Exception {
        Await.until("the records up to " + expected + " are gone", () -> horizon() >= expected);
        assertThat(horizon()).isEqualTo(expected);
    }

    private long horizon() throws Exception {
        return log.number("select annals.horizon('" + project.id() + "')");
    }

    private List<String> noted() throws Exception {
        return log.texts("select file_name from annals.archive where project_id = '" + project.id()
                + "' order by last_sequence_id");
    }

    /** The files of the project's objects, which a name means that the store shows. */
    private List<Path> objects(String bucket) throws IOException {
        Path place = store.buckets().resolve(bucket).resolve(prefix);
        if (!Files.isDirectory(place)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(place)) {
            return files.filter(file -> file.toString().endsWith(".gz"))
                    .sorted()
                    .toList();
        }
    }

    private String uploads() {
        return requests("bucket")
                .listUploads(prefix)
                .await()
                .indefinitely()
                .body()
                .toString();
    }

    @Test
    void recordsGoIntoLockedObjectsThenOutOfTheDatabaseAndComeBack() throws Exception {
        append("2026-09-30 23:59:00Z", 100, 0);
        append("2026-10-01 00:00:00Z", 700, 24_000);
        append("2026-10-02 00:00:00Z", 50, 0);
        String output =
                succeed(archiving(store.url("locked/audit"), "--records=600", "--lock=governance", "--lock-days=365"));
        List<String> expected = Stream.of(
                        "year=2026/month=09/day=30/000000000000000001-000000000000000100",
                        "year=2026/month=10/day=01/000000000000000101-000000000000000700",
                        "year=2026/month=10/day=01/000000000000000701-000000000000000800",
                        "year=2026/month=10/day=02/000000000000000801-000000000000000850")
                .map(name -> prefix + name + ".ndjson.gz")
                .toList();
        assertThat(noted()).isEqualTo(expected.stream().map("locked/"::concat).toList());
        assertThat(output).contains(expected).contains("\t801-850\t");
        awaitHorizon(850);

        S3Requests requests = requests("locked");
        for (String key : expected) {
            Answer head = requests.head(key).await().indefinitely();
            assertThat(head.headers().get("x-amz-object-lock-mode")).isEqualTo("GOVERNANCE");
            assertThat(Instant.parse(head.headers().get("x-amz-object-lock-retain-until-date")))
                    .isBetween(
                            Instant.now().plus(Duration.ofDays(364)),
                            Instant.now().plus(Duration.ofDays(365)));
            Answer deletion = requests.send(
                            HttpMethod.DELETE,
                            key,
                            Map.of("versionId", head.headers().get("x-amz-version-id")),
                            Map.of(),
                            Buffer.buffer())
                    .await()
                    .indefinitely();
            assertThat(deletion.status()).isEqualTo(403);
            assertThat(deletion.body().toString()).contains("AccessDenied");
        }
        // More than one part.
        assertThat(Files.size(objects("locked").get(1))).isGreaterThan(8 * 1_048_576);

        String object = store.url("locked/" + expected.get(1));
        assertThat(succeed(service.client("check", object, "--vkey=" + vkey, "--secret-file=" + keys)))
                .startsWith("Verified: records 101 to 700, of the log ");
        Path restored = folder.resolve("restored");
        CommandResult checked =
                restore(restored, "--from=" + store.url("locked/audit/project=" + project.id()), "--check-only");
        assertThat(checked.output()).contains("The records 1 to 850 of project " + project.id() + " are in 4 files");
        assertThat(restored).doesNotExist();
        CommandResult back = restore(restored, "--from=" + store.url("locked/" + prefix + "year=2026"));
        assertThat(back.exitCode()).as(back.output()).isZero();
        try (ServiceProcess verify = ServiceProcess.start(Map.of("ANNALS_DATA_DIR", restored.toString()), "verify")) {
            assertThat(verify.awaitEnd()).isZero();
            assertThat(verify.output.toString()).contains("Sound: ");
        }
    }

    @Test
    void aKilledRunLeavesWholeObjectsAndTheNextOneContinues() throws Exception {
        append("2026-09-30 12:00:00Z", 100, 0);
        append("2026-10-01 12:00:00Z", 6_000, 0);
        Process process = archiving(store.url("bucket/audit")).start();
        try {
            Await.until(
                    "it writes the second object",
                    () -> !noted().isEmpty() && uploads().contains("day=01/000000000000000101-000000000000006100"));
        } finally {
            process.destroyForcibly().onExit().join();
        }
        assertThat(noted()).hasSize(1);
        assertThat(objects("bucket")).hasSize(1);
        awaitHorizon(100);

        // As a kill between the object and the note of it, with another end of the archive by then.
        ProcessBuilder unable = archiving(store.url("bucket/audit"), "--through=5000");
        unable.environment().put("ANNALS_ADMIN_TOKEN", project.token());
        assertRefused(3, "is complete, but is not recorded", unable);
        assertThat(objects("bucket")).hasSize(2);
        assertThat(noted()).hasSize(1);
        assertThat(uploads()).doesNotContain("<UploadId>");

        assertThat(succeed(archiving(store.url("bucket/audit"))))
                .contains("exists already", "\t101-5000\t", "\t5001-6100\t")
                .doesNotContain("\t1-100\t");
        awaitHorizon(6_100);
        assertThat(objects("bucket")).hasSize(3);
        assertThat(succeed(archiving(store.url("bucket/audit")))).contains("Nothing to archive");
    }

    @Test
    void aStoreThatIsBusySlowOrBreaksOffIsAskedAgain() throws Exception {
        for (int day = 1; day <= 4; day++) {
            append("2026-10-0" + day + " 12:00:00Z", 150, 4_000);
        }
        try (FlakyRelay relay = new FlakyRelay(store.port())) {
            String url = store.url("bucket/audit").replace(":" + store.port() + "/", ":" + relay.port() + "/");
            assertThat(succeed(archiving(url))).contains("\t1-150\t", "\t451-600\t");
            awaitHorizon(600);
            CommandResult checked = restore(
                    folder.resolve("none"),
                    "--from=" + url.replace("audit", "audit/project=" + project.id()),
                    "--check-only");
            assertThat(checked.output()).contains("The records 1 to 600");
            assertThat(relay.refused).hasPositiveValue();
            assertThat(relay.broken).hasPositiveValue();
        }
    }

    @Test
    void aChangedByteInTheStoreIsFound() throws Exception {
        append("2026-10-01 12:00:00Z", 100, 1_000);
        ProcessBuilder unable = archiving(store.url("bucket/audit"));
        unable.environment().put("ANNALS_ADMIN_TOKEN", project.token());
        assertRefused(3, "is complete, but is not recorded", unable);
        Path object = objects("bucket").get(0);
        byte[] whole = Files.readAllBytes(object);
        byte[] changed = whole.clone();
        changed[whole.length / 2] ^= 1;
        Files.write(object, changed);
        assertRefused(1, "because it is not what the log has signed", archiving(store.url("bucket/audit")));
        Files.write(object, new byte[0]);
        assertRefused(1, "because it is not what the log has signed", archiving(store.url("bucket/audit")));
        assertThat(noted()).isEmpty();
        Files.write(object, whole);
        succeed(archiving(store.url("bucket/audit")));
        awaitHorizon(100);

        Files.write(object, changed);
        String from = "--from=" + store.url("bucket/" + prefix);
        assertThat(restore(folder.resolve("none"), from, "--check-only").output())
                .contains("is not what the log has signed");
        CommandResult restored = restore(folder.resolve("none"), from);
        assertThat(restored.output()).contains("Nothing was restored");
        assertThat(restored.exitCode()).isEqualTo(1);
    }

    @Test
    void anArchiveThatTheStoreDoesNotLockIsNotRecorded() throws Exception {
        append("2026-10-01 12:00:00Z", 10, 0);
        assertRefused(1, "The store at", archiving(store.url("bucket/audit"), "--lock=compliance", "--lock-days=10"));
        ProcessBuilder unable = archiving(store.url("locked/audit"));
        unable.environment().put("ANNALS_ADMIN_TOKEN", project.token());
        assertRefused(3, "is complete, but is not recorded", unable);
        assertRefused(
                1,
                "does not show the lock",
                archiving(store.url("locked/audit"), "--lock=governance", "--lock-days=10"));
        assertThat(noted()).isEmpty();
        assertThat(horizon()).isZero();
    }

    @Test
    void aWrongCommandLineIsExplained() throws Exception {
        append("2026-10-01 12:00:00Z", 10, 0);
        String url = store.url("bucket/audit");
        assertRefused(2, "does not go with --output", archiving(url, "--output=" + folder));
        assertRefused(2, "both need each other", archiving(url, "--lock=governance"));
        assertRefused(2, "--lock is governance or compliance", archiving(url, "--lock=legal", "--lock-days=3"));
        assertRefused(2, "It must be s3+https://host/bucket/prefix", archiving("https://127.0.0.1/bucket"));
        assertRefused(2, "loopback alone", archiving("s3+http://10.0.0.1/bucket"));
        assertRefused(2, "(--secret-file)", archiving(url, "--secret-file=" + folder.resolve("none")));
        assertRefused(1, "NoSuchBucket", archiving(store.url("nobody/audit")));
        Files.writeString(folder.resolve("wrong"), ObjectStore.KEYS + "x");
        assertRefused(1, "SignatureDoesNotMatch", archiving(url, "--secret-file=" + folder.resolve("wrong")));
        assertThat(noted()).isEmpty();
    }
}
