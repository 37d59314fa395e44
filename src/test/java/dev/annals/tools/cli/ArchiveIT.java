package dev.annals.tools.cli;

import static dev.annals.tools.cli.CommandResult.assertRefused;
import static dev.annals.tools.cli.CommandResult.run;
import static dev.annals.tools.cli.CommandResult.succeed;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.PackagedService;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The oldest records go into files, then out of the database, and come back from the files, by the packaged program. */
@Slow
@Order(3)
@Timeout(300)
class ArchiveIT {

    private static final int LIMIT_SECONDS = 120;
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    static Path directory;

    private static PackagedService service;

    @TempDir
    Path folder;

    private Project project;
    private String vkey;
    private SqlFixture log;

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(directory.resolve("data"), Map.of("ANNALS_RETENTION_INTERVAL", "200ms"));
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
    }

    @BeforeEach
    void makeProject() throws Exception {
        log = SqlFixture.on(service.database());
        project = service.newProject("read", "write", "redact");
        vkey = get("/log").get("vkeys").get(0).textValue();
    }

    private ProcessBuilder archiving(Path into, String... options) throws IOException {
        List<String> arguments =
                new ArrayList<>(List.of("archive", "--vkey=" + vkey, "--output=" + Files.createDirectories(into)));
        arguments.addAll(List.of(options));
        ProcessBuilder command = service.client(arguments.toArray(String[]::new));
        command.environment().put("ANNALS_TOKEN", project.token());
        command.environment().put("ANNALS_ADMIN_TOKEN", service.adminToken());
        return command;
    }

    private String archive(String... options) throws Exception {
        return succeed(archiving(folder, options));
    }

    private CommandResult restore(Map<String, String> database, Path... files) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("archive", "restore", "--vkey=" + vkey));
        Stream.of(files).map(Path::toString).forEach(arguments::add);
        return CommandResult.run(database, arguments);
    }

    private static HttpResponse<String> ask(URI at, String token, String path) throws Exception {
        return CLIENT.send(
                HttpRequest.newBuilder(at.resolve(path))
                        .header("Authorization", "Bearer " + token)
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode get(String path) throws Exception {
        HttpResponse<String> answer = ask(service.uri(), project.token(), "/v1/project-logs" + path);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return Json.mapper().readTree(answer.body());
    }

    private JsonNode state() throws Exception {
        return Json.mapper()
                .readTree(ask(service.uri(), project.token(), "/v1/whoami").body())
                .get("project");
    }

    /** Appends records that were recorded 40 days ago, and waits until the log has them. */
    private void append(int count, String recordedAt) throws Exception {
        log.run("""
                insert into annals.audit_record (project_id, action, actor_id, actor_name, subject_type, subject_id, outcome, ip_address,
                  message, metadata, recorded_at, "timestamp", recorded_by_token, recorded_by_role)
                select '%s', 'act', 'u' || n %% 7, 'Ümit "' || n || '"', 'volume', 'v-' || n, case when n %% 3 = 0 then 'ok' end,
                  ('2001:db8::' || n %% 100)::inet, 'Volume ' || n || E' \\u2028 \\t', ('{"n": ' || n || '.10, "big": 12345678901234567890}')::jsonb,
                  %s, '0001-01-01 00:00:00Z'::timestamptz + n * interval '1 us',
                  case when n %% 4 = 0 then gen_random_uuid() when n %% 2 = 0 then annals.shared_append_id() end, case when n %% 2 = 1 then 'somebody' end
                from generate_series(1, %d) as n""".formatted(project.id(), recordedAt, count));
        Await.until("the log has them", () -> {
            long head = log.number(
                    "select max(last_sequence_id) from annals.feed_segment where project_id = '" + project.id() + "'");
            return log.number("select count(*) from annals.projection_checkpoint where project_id = '" + project.id()
                            + "' and projection in ('log', 'statistics') and sequence_id = " + head)
                    == 2;
        });
    }

    private void appendOld(int count) throws Exception {
        append(count, "clock_timestamp() - interval '40 days'");
    }

    private void retain(boolean archiveRequired) throws Exception {
        log.run(
                "select annals.require_archive('" + project.id() + "', " + archiveRequired + ")",
                "select annals.set_retention('" + project.id() + "', 30)");
    }

    private long horizon() throws Exception {
        return log.number("select annals.horizon('" + project.id() + "')");
    }

    private void awaitHorizon(long expected) throws Exception {
        Await.until("the records up to " + expected + " are gone", () -> horizon() >= expected);
        assertThat(horizon()).isEqualTo(expected);
    }

    /** Each look comes by the projects in their order: what it would have removed of this one is gone before those of another. */
    private void awaitALook() throws Exception {
        Project before = project;
        project = service.newProject();
        appendOld(1);
        retain(false);
        awaitHorizon(1);
        project = before;
    }

    private List<String> exported() throws Exception {
        return ask(service.uri(), project.token(), "/v1/project-logs/export")
                .body()
                .lines()
                .toList();
    }

    private Path file(long first, long last) throws Exception {
        return folder.resolve("annals-"
                + state().get("name").textValue().replaceAll("[^A-Za-z0-9]+", "-") + "-" + first + "-" + last
                + ".ndjson.gz");
    }

    private static String sha256(Path file) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    private void assertNothingIsNotedAndNothingWent() throws Exception {
        assertThat(state().get("archived_through").longValue()).isZero();
        assertThat(log.number("select count(*) from annals.archive where project_id = '" + project.id() + "'"))
                .isZero();
        awaitALook();
        assertThat(horizon()).isZero();
    }

    @Test
    void recordsGoIntoFilesThenOutOfTheDatabaseAndComeBackAsTheyWere() throws Exception {
        for (int i = 0; i < 3; i++) {
            appendOld(200);
        }
        append(50, "clock_timestamp()");
        String redacted =
                get("?limit=1&cursor=99").get("results").get(0).get("id").textValue();
        ProcessBuilder redact = service.client("redact", redacted, "--field=message", "--field=metadata", "--reason=r");
        redact.environment().put("ANNALS_TOKEN", project.token());
        assertThat(run(redact).exitCode()).isZero();
        List<String> before = exported();
        retain(true);
        Await.until("it waits", () -> state().get("awaits_archive").booleanValue());
        awaitALook();
        assertThat(horizon()).isZero();

        String noted = archive("--records=256");
        assertThat(noted.lines().filter(line -> line.contains("\t"))).hasSize(3);
        assertThat(noted)
                .contains("2 values are redacted. For 2 of them, a later record than 256 proves the redaction");
        assertThat(noted).contains("\t1-256\t" + sha256(file(1, 256)), "\t257-512\t", "\t513-600\t");
        assertThat(files()).containsExactly(file(1, 256), file(257, 512), file(513, 600));
        awaitHorizon(600);
        assertThat(exported()).isEqualTo(before.subList(600, before.size()));
        assertThat(archive()).contains("Nothing to archive");
        assertThat(run(service.client("check", file(257, 512).toString(), "--vkey=" + vkey))
                        .output())
                .startsWith("Verified: records 257 to 512, of the log ");

        CommandResult before256 = run(service.client("check", file(1, 256).toString(), "--vkey=" + vkey));
        assertThat(before256.output()).contains("Verified in part: records 1 to 256", "2 values are redacted");
        assertThat(before256.exitCode()).isEqualTo(8);

        Path restored = folder.resolve("restored");
        Map<String, String> there = Map.of("ANNALS_DATA_DIR", restored.toString());
        CommandResult back = restore(there, file(513, 600), file(1, 256), file(257, 512));
        assertThat(back.exitCode()).as(back.output()).isZero();
        assertThat(back.output()).contains("The records 1 to 600 of project " + project.id() + " are restored");
        assertSound(there);
        assertThat(restore(there, file(1, 256)).output()).contains("already");
        assertReadsAs(restored, before.subList(0, 600));

        // A part of it, in a database that is there.
        DatabaseUrl other = TestDatabase.createDatabase();
        Map<String, String> elsewhere = Map.of("ANNALS_DATABASE_URL", other.withPassword());
        assertThat(restore(elsewhere, file(257, 512), file(513, 600)).output())
                .contains("The records 257 to 600 of project");
        assertSound(elsewhere);
        assertThat(SqlFixture.on(other)
                        .numbers("select sequence_id from annals.feed where project_id = '" + project.id()
                                + "' and sequence_id in (257, 600) order by 1"))
                .containsExactly(257L, 600L);
        // The original log's signature shows a change.
        SqlFixture.on(other)
                .run(
                        "set local session_replication_role = replica",
                        "update annals.audit_record set message = 'forged' where id = (select id from annals.feed where"
                                + " project_id = '" + project.id() + "' and sequence_id = 300)");
        try (ServiceProcess verify = ServiceProcess.start(elsewhere, "verify")) {
            assertThat(verify.awaitEnd()).isEqualTo(1);
            assertThat(verify.output.toString()).contains("at least one of the records 257 to 600 is not the one");
        }
    }

    private static void assertSound(Map<String, String> database) throws Exception {
        try (ServiceProcess verify = ServiceProcess.start(database, "verify")) {
            int ended = verify.awaitEnd();
            assertThat(verify.output.toString()).contains("Sound: ");
            assertThat(ended).isZero();
        }
    }

    /** Whatever key its service has, it signs nothing; and it takes nothing. */
    private void assertReadsAs(Path restored, List<String> records) throws Exception {
        Files.copy(
                directory.resolve("data").resolve("log-key"),
                restored.resolve("log-key"),
                StandardCopyOption.REPLACE_EXISTING);
        try (ServiceProcess copy = ServiceProcess.start(Map.of("ANNALS_DATA_DIR", restored.toString()))
                .awaitListening()) {
            Path tokens = restored.resolve("first-tokens");
            Await.until("the first tokens are written", () -> Files.exists(tokens));
            String token = first("export ANNALS_TOKEN=(\\S+)", Files.readString(tokens));
            String admin = first("export ANNALS_ADMIN_TOKEN=(\\S+)", Files.readString(tokens));
            assertThat(ask(copy.uri(""), token, "/v1/project-logs/export")
                            .body()
                            .lines()
                            .toList())
                    .isEqualTo(records);
            HttpResponse<String> checkpoint = ask(copy.uri(""), token, "/v1/project-logs/log/1/checkpoint");
            assertThat(checkpoint.statusCode()).isEqualTo(503);
            assertThat(checkpoint.body()).contains("log-halted", "a copy of the records 1 to 600", "restored");
            Project writing = copy.newToken(admin, project.id(), "write", "redact");
            HttpResponse<String> refused = CLIENT.send(
                    HttpRequest.newBuilder(copy.uri("/v1/project-logs"))
                            .header("Authorization", "Bearer " + writing.token())
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(refused.body()).contains("project-closed");
            copy.process().destroy();
            copy.awaitEnd();
        }
        for (List<String> command : List.of(
                List.of("log", "resume", "--project=" + project.id()),
                List.of("log", "next-epoch", "--project=" + project.id()))) {
            try (ServiceProcess signing = ServiceProcess.start(
                    Map.of("ANNALS_DATA_DIR", restored.toString()), command.toArray(String[]::new))) {
                assertThat(signing.awaitEnd()).isEqualTo(1);
                assertThat(signing.output.toString()).contains("its log stays halted");
            }
        }
    }

    private static String first(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        assertThat(matcher.find()).isTrue();
        return matcher.group(1);
    }

    @Test
    void aDamagedFileIsNeitherNotedNorRestored() throws Exception {
        for (int i = 0; i < 3; i++) {
            appendOld(200);
        }
        retain(true);
        ProcessBuilder unable = archiving(folder, "--records=200");
        unable.environment().put("ANNALS_ADMIN_TOKEN", project.token());
        assertRefused(3, "is complete, but is not recorded", unable);
        Path made = file(1, 200);
        assertThat(files()).containsExactly(made);
        byte[] whole = Files.readAllBytes(made);
        for (int at : List.of(12, whole.length - 6, whole.length / 2, whole.length - 20)
                .subList(0, Load.times(2, 4))) {
            byte[] flipped = whole.clone();
            flipped[at] ^= 1;
            Files.write(made, flipped);
            assertRefused(1, "not recorded as an archive, because it is not what", archiving(folder, "--records=200"));
        }
        for (int length : List.of(0, whole.length - 1, 5, 500, whole.length / 2).subList(0, Load.times(2, 5))) {
            Files.write(made, Arrays.copyOf(whole, length));
            assertRefused(1, "not recorded as an archive, because it is not what", archiving(folder, "--records=200"));
        }
        assertNothingIsNotedAndNothingWent();

        Files.write(made, whole);
        assertThat(archive("--records=200")).contains("exists already", "\t1-200\t", "\t201-400\t", "\t401-600\t");
        awaitHorizon(600);

        Path never = folder.resolve("never");
        Map<String, String> there = Map.of("ANNALS_DATA_DIR", never.toString());
        assertThat(restore(there, made, file(401, 600)).output()).contains("The records 201 to 400 are missing");
        byte[] flipped = whole.clone();
        flipped[whole.length / 2] ^= 1;
        Files.write(made, flipped);
        assertThat(restore(there, made, file(201, 400)).output()).contains("Nothing was restored: " + made);
        Files.write(made, Arrays.copyOf(whole, whole.length - 1));
        CommandResult cut = restore(there, made);
        assertThat(cut.output()).contains("Nothing was restored: " + made);
        assertThat(cut.exitCode()).isEqualTo(1);
        assertThat(never).doesNotExist();
    }

    @Test
    @TakesLong
    void aKilledArchiveCommandHasRecordedNothing() throws Exception {
        appendOld(8_000);
        retain(true);
        Process process = archiving(folder).start();
        try {
            Await.until("it writes", () -> {
                for (Path file : files()) {
                    if (file.toString().endsWith(".partial") && Files.size(file) > 100_000) {
                        return true;
                    }
                }
                return false;
            });
        } finally {
            process.destroyForcibly().onExit().join();
        }
        assertThat(files()).singleElement().asString().endsWith(".partial");
        assertNothingIsNotedAndNothingWent();
        assertThat(archive()).contains("\t1-8000\t");
        awaitHorizon(8_000);
    }

    @Test
    @TakesLong
    void twoArchiveCommandsRecordEachRecordOnce() throws Exception {
        for (int i = 0; i < 10; i++) {
            appendOld(100);
        }
        retain(true);
        Path elsewhere = folder.resolve("elsewhere");
        List<Process> two = new ArrayList<>();
        List<CompletableFuture<String>> outputs = new ArrayList<>();
        for (Path into : List.of(folder, folder, elsewhere)) {
            Process process =
                    archiving(into, "--records=100").redirectErrorStream(true).start();
            two.add(process);
            outputs.add(CompletableFuture.supplyAsync(() -> {
                try {
                    return new String(process.getInputStream().readAllBytes(), UTF_8);
                } catch (IOException e) {
                    return e.toString();
                }
            }));
        }
        for (int i = 0; i < two.size(); i++) {
            assertThat(two.get(i).waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
            // The second one is refused, or finds that the archived records have expired.
            if (two.get(i).exitValue() != 0) {
                assertThat(outputs.get(i).get()).containsAnyOf("Archive not next", "Records expired");
            }
        }
        archive("--records=100");
        assertThat(log.texts(
                        "select first_sequence_id || '-' || last_sequence_id from annals.archive where project_id = '"
                                + project.id() + "' order by last_sequence_id"))
                .containsExactly(
                        "1-100",
                        "101-200",
                        "201-300",
                        "301-400",
                        "401-500",
                        "501-600",
                        "601-700",
                        "701-800",
                        "801-900",
                        "901-1000");
        for (String noted : log.texts("select encode(sha256, 'hex') || ' ' || file_name from annals.archive"
                + " where project_id = '" + project.id() + "'")) {
            String[] parts = noted.split(" ", 2);
            assertThat(List.of(folder, elsewhere)).as(noted).anyMatch(into -> {
                try {
                    return Files.exists(into.resolve(parts[1]))
                            && sha256(into.resolve(parts[1])).equals(parts[0]);
                } catch (Exception e) {
                    return false;
                }
            });
        }
        awaitHorizon(1000);
    }

    /** A hold stops what an archive would let go; the archive of what is held stays what it is. */
    @Test
    @TakesLong
    void heldRecordsCanBeArchivedAndStay() throws Exception {
        appendOld(100);
        retain(true);
        String hold = log.text("select gen_random_uuid()");
        log.run("select annals.set_hold('" + project.id() + "', '" + hold + "', 'u1', null, 'a case')");
        archive();
        awaitALook();
        assertThat(horizon()).isZero();
        assertThat(state().get("archived_through").longValue()).isEqualTo(100);
        log.run("select annals.lift_hold('" + project.id() + "', '" + hold + "', 'it is closed')");
        awaitHorizon(100);
        assertThat(run(service.client("check", file(1, 100).toString(), "--vkey=" + vkey))
                        .exitCode())
                .isZero();
    }

    @Test
    void aWrongCommandLineIsExplained() throws Exception {
        appendOld(10);
        assertRefused(2, "never expire", archiving(folder));
        assertRefused(2, "does not go with --until", archiving(folder, "--through=5", "--until=2026-01-01T00:00:00Z"));
        assertRefused(2, "has to be a time", archiving(folder, "--until=yesterday"));
        assertRefused(2, "--records", archiving(folder, "--records=0"));
        ProcessBuilder keyless = service.client("archive", "--through=5");
        keyless.environment().put("ANNALS_TOKEN", project.token());
        assertRefused(2, "Add --vkey", keyless);
        assertThat(archive("--through=5")).contains("\t1-5\t");
        assertThat(archive("--until=9998-12-31T23:59:60Z")).contains("\t6-10\t");
        assertThat(files()).hasSize(2);
    }
}
