package dev.annals.tools.cli;

import static dev.annals.Tools.need;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.derived.log.GoPrograms;
import dev.annals.derived.log.HostileWitness;
import dev.annals.derived.log.TestWitness;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands of a reader that does not trust the operator, against the packaged service and an owner with its database and key. */
@Slow
@Order(2)
@Timeout(300)
class ProofIT {

    private static final int LIMIT_SECONDS = 60;

    @TempDir
    static Path directory;

    private static PackagedService service;

    @TempDir
    Path folder;

    private Project project;
    private String vkey;

    /** Each knows only the logs that a test names to it; there are none where there is no Go. */
    private static final List<TestWitness> WITNESSES = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        Map<String, String> settings = Map.of();
        if (GoPrograms.canBeBuilt()) {
            for (String name : List.of("witness.example/one", "witness.example/other")) {
                WITNESSES.add(TestWitness.start(name, directory));
            }
            settings = Map.of(
                    "ANNALS_LOG_WITNESSES",
                    WITNESSES.stream().map(TestWitness::setting).collect(Collectors.joining(",")));
        }
        service = new PackagedService(directory.resolve("data"), settings);
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
        WITNESSES.forEach(TestWitness::close);
    }

    @BeforeEach
    void makeProject() throws Exception {
        project = service.newProject();
        vkey = json("/log").get("vkeys").get(0).textValue();
    }

    private record Result(int exitCode, String output, String error) {}

    private Result run(String... arguments) throws Exception {
        return run(service.uri(), service.database(), arguments);
    }

    private Result run(URI at, DatabaseUrl database, String... arguments) throws Exception {
        ProcessBuilder command = service.client(arguments);
        command.environment().put("ANNALS_URL", at.toString());
        command.environment().put("ANNALS_TOKEN", project.token());
        command.environment().put("ANNALS_DATABASE_URL", database.withPassword());
        Path error = folder.resolve("error");
        Process process = command.redirectError(error.toFile()).start();
        CompletableFuture<Process> end = process.onExit().orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS);
        // Not for an ended process: that would close its output before it is read.
        var unused = end.exceptionally(tooLong -> process.destroyForcibly());
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        return new Result(end.get().exitValue(), output, Files.readString(error));
    }

    private Result succeed(String... arguments) throws Exception {
        Result result = run(arguments);
        assertThat(result.exitCode()).as(result.error() + result.output()).isZero();
        return result;
    }

    private void assertEnds(int exitCode, String says, String... arguments) throws Exception {
        Result result = run(arguments);
        assertThat(result.output() + result.error()).contains(says).doesNotContain("\tat ");
        assertThat(result.exitCode()).isEqualTo(exitCode);
    }

    private String get(String path) throws IOException, InterruptedException {
        HttpResponse<String> answer = ask(service.uri(), path);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    private HttpResponse<String> ask(URI at, String path) throws IOException, InterruptedException {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(at.resolve("/v1/project-logs" + path))
                                .header("Authorization", "Bearer " + project.token())
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode json(String path) throws IOException, InterruptedException {
        return Json.mapper().readTree(get(path));
    }

    private void append(int from, int to) throws Exception {
        send(from, to);
        // Those who ask soon after another share the checkpoint that the other has got.
        Await.until(
                "all records are in the log",
                () -> get("/log/1/checkpoint").lines().toList().get(1).equals(Integer.toString(to)));
    }

    private void send(int from, int to) throws Exception {
        String lines = IntStream.rangeClosed(from, to)
                .mapToObj(n -> "{\"action\": \"n\", \"message\": \"" + n + "\", \"metadata\": {\"n\": " + n + ".10}}\n")
                .collect(Collectors.joining());
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs/import"))
                                .header("Authorization", "Bearer " + project.token())
                                .header("Content-Type", "application/x-ndjson")
                                .POST(HttpRequest.BodyPublishers.ofString(lines))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.body()).contains("\"stored\":" + (to - from + 1));
    }

    /** The owner changes record 300, and lets the service sign a log in which it has always been so. */
    private void forgeHistory() throws Exception {
        forgeHistory(() -> get("/log/1/checkpoint").contains("\n700\n"));
    }

    private void forgeHistory(Await.Condition isSigned) throws Exception {
        String of = " where project_id = '" + project.id() + "'";
        SqlFixture.on(service.database())
                .run(
                        "set local session_replication_role = replica",
                        "select from annals.projection_checkpoint" + of + " for update",
                        "update annals.audit_record set action = 'forged'" + of + " and message = '300'",
                        "delete from annals.merkle_tile" + of,
                        "delete from annals.merkle_log" + of,
                        "update annals.projection_checkpoint set sequence_id = 0" + of + " and projection = 'log'");
        Files.deleteIfExists(directory
                .resolve("data")
                .resolve("log-key.seen")
                .resolve(project.id().toString()));
        send(601, 700);
        Await.until("the other history is signed, or not", isSigned);
    }

    @Test
    void anExportProvesItselfAndEveryChangeOfItIsNamed() throws Exception {
        append(1, 600);
        Path file = folder.resolve("proved");
        Result exported = succeed("export", "--proof", "--vkey=" + vkey, "-o", file.toString());
        assertThat(exported.error()).contains("600 records", "verified");
        assertThat(succeed("check", file.toString(), "--vkey=" + vkey).output())
                .startsWith("Verified: records 1 to 600, all there are in the log ");
        assertThat(run("export", "--proof").error()).contains("The service names the key " + vkey);
        assertEnds(2, "exists already", "export", "--proof", "-o", file.toString());
        assertEnds(2, "omit --resume", "export", "--proof", "--action=n");
        assertEnds(2, "need --proof", "export", "--vkey=" + vkey);

        JsonNode record = json("?limit=1&cursor=299").get("results").get(0);
        List<String> lines = Files.readAllLines(file);
        Path changed = folder.resolve("changed");
        Files.write(
                changed,
                lines.stream()
                        .map(line -> line.replace("\"message\":\"300\"", "\"message\":\"301\""))
                        .toList());
        assertEnds(
                1,
                "record " + record.get("id").textValue() + " with the sequence id 300 in line",
                "check",
                changed.toString(),
                "--vkey=" + vkey);
        Files.write(changed, lines.subList(0, 400));
        assertEnds(1, "the file ends with record", "check", changed.toString(), "--vkey=" + vkey);
        String other = vkey.replaceFirst("log/1", "log/2");
        assertEnds(2, "has the id", "check", file.toString(), "--vkey=" + other);
        assertEnds(2, "Add --vkey", "check", file.toString());
        assertEnds(2, "there is no file", "check", folder.resolve("nothing").toString(), "--vkey=" + vkey);

        Path proof = folder.resolve("proof");
        Files.writeString(proof, get("/" + record.get("id").textValue() + "/proof"));
        assertEnds(0, "with the sequence id 300", "check", proof.toString(), "--vkey=" + vkey);
        Files.writeString(proof, Files.readString(proof).replaceFirst("index 299", "index 298"));
        assertEnds(1, "Not verified", "check", proof.toString(), "--vkey=" + vkey);

        Path part = folder.resolve("part");
        succeed("export", "--proof", "--cursor=100", "-o", part.toString());
        assertEnds(0, "records 101 to 600", "check", part.toString(), "--vkey=" + vkey, "--from=101");
        assertEnds(1, "1 should follow", "check", part.toString(), "--vkey=" + vkey);
    }

    @Test
    void aTailVerifiesWhatItPrintsAndStopsAtAFork() throws Exception {
        append(1, 500);
        Path cursor = folder.resolve("cursor");
        String[] tail = {"tail", "--verify", "--vkey=" + vkey, "--cursor-file=" + cursor, "--from-start", "--patience=5"
        };
        assertThat(succeed(tail).output()).hasLineCount(500);
        assertThat(Files.readString(folder.resolve("cursor.checkpoint"))).contains("\n500\n");
        assertThat(succeed(tail).output()).isEmpty();
        append(501, 600);
        assertThat(succeed(tail).output()).hasLineCount(100).contains("  501  n", "  600  n");
        assertEnds(2, "add --cursor-file", "tail", "--verify", "--vkey=" + vkey);
        assertEnds(2, "Add --vkey", "tail", "--verify", "--cursor-file=" + cursor);
        assertEnds(2, "need --verify", "tail", "--vkey=" + vkey);
        Path newest = folder.resolve("newest");
        assertThat(succeed("tail", "--verify", "--vkey=" + vkey, "--cursor-file=" + newest, "-n", "3")
                        .output())
                .hasLineCount(3)
                .contains("  598  n");

        forgeHistory();
        Result stopped = run(tail);
        assertThat(stopped.error()).contains("does not continue that of 600");
        assertThat(stopped.exitCode()).isEqualTo(6);
        assertThat(stopped.output()).isEmpty();
        assertThat(Files.readString(folder.resolve("cursor.checkpoint"))).contains("\n600\n");
        // who has seen nothing cannot know
        assertThat(succeed(
                                "tail",
                                "--verify",
                                "--vkey=" + vkey,
                                "--cursor-file=" + folder.resolve("new"),
                                "--from-start")
                        .output())
                .hasLineCount(700);
    }

    /** A proxy, or the service itself, changes one record of a page. */
    @Test
    void pagesThatAreChangedOnTheWayAreNeitherPrintedNorExported() throws Exception {
        append(1, 400);
        HttpServer liar = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        liar.createContext("/", exchange -> {
            try (exchange) {
                String path = exchange.getRequestURI().toString().substring("/v1/project-logs".length());
                byte[] body = get(path)
                        .replace("\"message\":\"300\"", "\"message\":\"301\"")
                        .getBytes(UTF_8);
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        });
        liar.start();
        try {
            String url = "--url=http://127.0.0.1:" + liar.getAddress().getPort();
            Result tail = run(
                    "tail",
                    "--verify",
                    "--vkey=" + vkey,
                    "--cursor-file=" + folder.resolve("cursor"),
                    "--from-start",
                    url);
            assertThat(tail.error()).contains("are not those of the log");
            assertThat(tail.exitCode()).isEqualTo(6);
            assertThat(tail.output()).isEmpty();
            assertEnds(6, "are not those of the log", "export", "--proof", url, "--vkey=" + vkey);
        } finally {
            liar.stop(0);
        }
    }

    @Test
    @TakesLong
    void aFollowingTailPrintsProvedRecordsAsTheyArrive() throws Exception {
        append(1, 10);
        Path cursor = folder.resolve("cursor");
        ProcessBuilder command = service.client(
                "tail", "--follow", "--verify", "--vkey=" + vkey, "--cursor-file=" + cursor, "--from-start");
        command.environment().put("ANNALS_TOKEN", project.token());
        Path output = folder.resolve("followed");
        Process process = command.redirectOutput(output.toFile())
                .redirectError(folder.resolve("error").toFile())
                .start();
        try {
            awaitLines(process, output, 10);
            append(11, 600);
            awaitLines(process, output, 600);
            forgeHistory();
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(Files.readString(folder.resolve("error"))).contains("does not continue that of 600");
            assertThat(process.exitValue()).isEqualTo(6);
            assertThat(output).content().hasLineCount(600);
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void aRedactionIsProvedAndCanBeRepeated() throws Exception {
        append(1, 300);
        String id = json("?limit=1&cursor=99").get("results").get(0).get("id").textValue();
        Path kept = folder.resolve("checkpoint");
        Files.writeString(kept, get("/log/1/checkpoint"));
        Path file = folder.resolve("proved");
        assertEnds(3, "scope", "redact", id, "--field=message", "--reason=r");
        Project reading = project;
        Project redacting = service.token(project, "redact", "read");
        project = redacting;
        assertEnds(
                0,
                "Redacted: message, metadata",
                "redact",
                id,
                "--field=message",
                "--field=metadata",
                "--reason=A reason");
        assertEnds(1, "has no outcome", "redact", id, "--field=outcome", "--reason=r");
        assertEnds(2, "--reason", "redact", id, "--field=message");
        assertEnds(2, "cannot be used with", "redact", id, "--replay=" + file);
        project = reading;
        Await.until("the event is in the log", () -> get("/log/1/checkpoint").contains("\n301\n"));
        succeed("export", "--proof", "--vkey=" + vkey, "-o", file.toString());
        assertThat(Files.readString(file))
                .contains("\"redacted\":{\"message\":")
                .doesNotContain("\"message\":\"100\"");
        assertEnds(0, "2 values are redacted", "check", file.toString(), "--vkey=" + vkey);
        assertEnds(0, "records 1 to 301", "check", file.toString(), "--vkey=" + vkey, "--against=" + kept);
        assertEnds(0, "the first 300 as the log has signed", "verify", "--against=" + kept, "--vkey=" + vkey);
        Path changed = folder.resolve("changed");
        Files.writeString(
                changed, Files.readString(file).replaceFirst("(\"redacted\":\\{\"message\":\").{3}", "$1AAA"));
        assertEnds(1, id + " with the sequence id 100", "check", changed.toString(), "--vkey=" + vkey);
        Path cursor = folder.resolve("cursor");
        assertThat(succeed("tail", "--verify", "--vkey=" + vkey, "--cursor-file=" + cursor, "--from-start")
                        .output())
                .hasLineCount(301)
                .contains("  100  n  [redacted: message, metadata]");

        project = redacting;
        assertEnds(0, "1 redaction is in effect", "redact", "--replay=" + file);
        assertThat(json("?limit=1&order=desc")
                        .get("results")
                        .get(0)
                        .get("sequence_id")
                        .longValue())
                .isEqualTo(301);
        project = service.token(service.newProject(), "redact");
        assertEnds(5, "1 is refused", "redact", "--replay=" + file);
    }

    @Test
    void aValueThatIsGoneThoughTheLogDoesNotSaySoIsNotTakenForRedacted() throws Exception {
        append(1, 300);
        String id = json("?limit=1&cursor=99").get("results").get(0).get("id").textValue();
        Path file = folder.resolve("proved");
        assertThat(succeed("export", "--proof", "--vkey=" + vkey, "-o", file.toString())
                        .error())
                .contains("No value is redacted");
        assertEnds(0, "No value is redacted", "check", file.toString(), "--vkey=" + vkey);
        assertEnds(0, "No value is redacted", "verify", "--project=" + project.id());
        SqlFixture.on(service.database()).redactSilently(project.id(), id);
        String lacks =
                id + " with the sequence id 100 lacks its message, and no annals.redact record of the log says so";
        assertEnds(1, "record " + id + " lacks its message", "verify", "--project=" + project.id());
        Path cursor = folder.resolve("cursor");
        String[] tail = {"tail", "--verify", "--vkey=" + vkey, "--cursor-file=" + cursor, "--from-start"};
        assertEnds(6, lacks, tail);
        Path other = folder.resolve("other");
        assertEnds(6, lacks, "export", "--proof", "--vkey=" + vkey, "-o", other.toString());
        assertThat(other).doesNotExist();
        Path proof = folder.resolve("proof");
        Files.writeString(proof, get("/" + id + "/proof"));
        assertEnds(8, "1 value is redacted", "check", proof.toString(), "--vkey=" + vkey);
    }

    @Test
    @TakesLong
    void aLogThatHasEndedSaysSoAndItsReadersGoOnOnlyWithTheNextKey() throws Exception {
        append(1, 60);
        Path cursor = folder.resolve("cursor");
        String[] tail = {"tail", "--verify", "--vkey=" + vkey, "--cursor-file=" + cursor, "--from-start"};
        assertThat(succeed(tail).output()).hasLineCount(60);
        assertThat(run(
                                service.uri(),
                                service.database(),
                                "log",
                                "next-epoch",
                                "--project=" + project.id(),
                                "--reason=a new key")
                        .exitCode())
                .isZero();
        send(61, 63);
        Await.until(
                "the next log has all",
                () -> ask(service.uri(), "/log/2/checkpoint").body().contains("\n63\n"));
        String ended = "has ended with 60 records: a new key";
        assertEnds(9, ended, tail);
        assertEnds(
                9, ended, Stream.concat(Stream.of(tail), Stream.of("--follow")).toArray(String[]::new));
        Path file = folder.resolve("proved");
        assertEnds(9, ended, "export", "--proof", "--vkey=" + vkey, "-o", file.toString());
        assertThat(file).doesNotExist();

        String next = json("/log").get("vkeys").get(0).textValue();
        assertEnds(
                2,
                "does not contain a checkpoint of this log",
                "tail",
                "--verify",
                "--vkey=" + next,
                "--cursor-file=" + cursor);
        assertThat(succeed("tail", "--verify", "--vkey=" + vkey, "--vkey=" + next, "--cursor-file=" + cursor)
                        .output())
                .hasLineCount(3)
                .contains("  61  n", "  63  n");
        succeed("export", "--proof", "--vkey=" + next, "-o", file.toString());
        assertEnds(0, "records 1 to 63, all there are", "check", file.toString(), "--vkey=" + next);
    }

    private static void awaitLines(Process process, Path output, int lines) throws Exception {
        while (Files.readAllLines(output).size() < lines) {
            assertThat(process.isAlive()).isTrue();
            Thread.sleep(20);
        }
    }

    @Test
    void aDatabaseIsComparedWithACheckpointThatWasKept() throws Exception {
        append(1, 600);
        Path kept = folder.resolve("checkpoint");
        Files.writeString(kept, get("/log/1/checkpoint"));
        assertEnds(
                0,
                "Sound: 600 records in 1 project, the first 600 as the log has signed them.",
                "verify",
                "--against=" + kept,
                "--vkey=" + vkey);
        assertEnds(2, "--vkey", "verify", "--against=" + kept);
        forgeHistory();
        assertThat(json("/log/consistency?from=600&to=700").get("hashes")).isNotEmpty();
        assertEnds(1, "not those that the log has signed", "verify", "--against=" + kept, "--vkey=" + vkey);
        Path file = folder.resolve("proved");
        succeed("export", "--proof", "-o", file.toString());
        assertEnds(0, "Verified", "check", file.toString(), "--vkey=" + vkey);
        assertEnds(1, "does not continue that of 600", "check", file.toString(), "--vkey=" + vkey, "--against=" + kept);
    }

    @Test
    @TakesLong
    void aReaderThatRequiresWitnessesGetsOnlyCosignedRecords() throws Exception {
        need(!WITNESSES.isEmpty(), "Go");
        // They know the log before they are asked about it: one that does not is left alone for minutes.
        project = service.newProject();
        vkey = MasterKey.parse(Files.readString(directory.resolve("data").resolve("log-key"))
                        .strip())
                .of("localhost/v1/projects/" + project.id() + "/log/1")
                .verifier()
                .toString();
        for (TestWitness witness : WITNESSES) {
            witness.add(vkey);
        }
        String first = "--witness=" + WITNESSES.get(0).vkey();
        String second = "--witness=" + WITNESSES.get(1).vkey();
        String stranger;
        try (HostileWitness unasked = new HostileWitness()) {
            stranger = "--witness=" + unasked.vkey();
        }
        String key = "--vkey=" + vkey;
        append(1, 300);
        Path file = folder.resolve("cosigned");
        assertEnds(1, "cosigned by 3 of", "export", "--proof", key, first, second, stranger, "--patience=0");
        Result exported = succeed(
                "export",
                "--proof",
                key,
                first,
                second,
                stranger,
                "--witnesses-needed=2",
                "--patience=20",
                "-o",
                file.toString());
        assertThat(exported.error()).contains("300 records");
        assertEnds(0, "cosigned by 2 of 2 witnesses", "check", file.toString(), key, first, second);
        assertEnds(1, "cosigned by 2 of 3", "check", file.toString(), key, first, second, stranger);

        append(301, 400);
        Path cursor = folder.resolve("cursor");
        String[] tail = {
            "tail", "--verify", key, first, second, "--cursor-file=" + cursor, "--from-start", "--patience=20"
        };
        // The cosigned checkpoint may be a moment old.
        int printed = 0;
        for (int tries = 0; tries < 50 && printed < 400; tries++) {
            printed += (int) succeed(tail).output().lines().count();
        }
        assertThat(printed).isEqualTo(400);
        assertThat(Files.readString(folder.resolve("cursor.checkpoint")))
                .contains("\n400\n", "\u2014 witness.example/one ", "\u2014 witness.example/other ");

        String id = json("?limit=1&cursor=299").get("results").get(0).get("id").textValue();
        Path proof = folder.resolve("proof");
        Files.writeString(proof, get("/" + id + "/proof?witnesses=2"));
        assertEnds(0, "cosigned by 2 of 2 witnesses", "check", proof.toString(), key, first, second);
        assertThat(ask(service.uri(), "/" + id + "/proof?witnesses=3").statusCode())
                .isEqualTo(404);
        String fsck = passFsck();
        assertThat(get("/log/1/checkpoint").lines().filter(line -> line.startsWith("\u2014")))
                .as(fsck)
                .hasSize(3);

        // The witnesses have seen 400 records, whatever the owner of the database makes of them.
        forgeHistory(() -> {
            HttpResponse<String> checkpoint = ask(service.uri(), "/log/1/checkpoint");
            return checkpoint.statusCode() == 503 && checkpoint.body().contains("witness.example/");
        });
        assertEnds(1, "witness.example/", "tail", "--verify", key, "--cursor-file=" + cursor, "--patience=0");
    }

    /** With a checkpoint that others have signed, too. */
    private String passFsck() throws Exception {
        Path key = folder.resolve("vkey");
        Files.writeString(key, vkey);
        Path output = folder.resolve("fsck");
        Process fsck = new ProcessBuilder(
                        GoPrograms.fsck().toString(),
                        "-storage_url=" + service.uri().resolve("/v1/project-logs/log/1/"),
                        "-bearer_token=" + project.token(),
                        "-public_key=" + key,
                        "-N=64",
                        "-ui=false")
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = fsck.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        fsck.destroyForcibly().waitFor();
        assertThat(ended).isTrue();
        assertThat(output).content().contains(GoPrograms.FSCK_SUCCEEDS);
        return Files.readString(output);
    }

    /** A redaction and some records are younger than the backup. */
    @Test
    @TakesLong
    void aBackupThatIsRestoredForksNoLogAndItsRedactionsAreRepeated() throws Exception {
        append(1, 300);
        Project reading = project;
        Project redacting = service.token(project, "redact", "read");
        String id = json("?limit=1&cursor=99").get("results").get(0).get("id").textValue();
        Path kept = folder.resolve("checkpoint");
        Files.writeString(kept, get("/log/1/checkpoint"));
        Path backup = folder.resolve("backup");
        service.terminate();
        PackagedService.copyDatabase(directory.resolve("data"), backup);
        service.restart();
        append(301, 310);
        project = redacting;
        assertEnds(0, "Redacted", "redact", id, "--field=message", "--reason=A reason");
        project = reading;
        Await.until("the event is in the log", () -> get("/log/1/checkpoint").contains("\n311\n"));
        Path newest = folder.resolve("newest");
        succeed("export", "--proof", "--vkey=" + vkey, "-o", newest.toString());
        Path later = folder.resolve("later");
        Files.writeString(later, get("/log/1/checkpoint"));

        Path restored = folder.resolve("restored");
        PackagedService.restoreDatabase(backup, restored);
        operate(restored, "verify");
        copyKey(restored);
        try (ServiceProcess copy = ServiceProcess.start(Map.of("ANNALS_DATA_DIR", restored.toString()))
                .awaitListening()) {
            URI at = copy.uri("");
            DatabaseUrl database = DatabaseUrl.parse(
                    Files.readString(restored.resolve("database-url")).strip());
            assertThat(ask(at, "/log/1/checkpoint").body()).contains("log-halted");
            assertThat(ask(at, "/" + id).body()).contains("\"100\"").doesNotContain("redacted");

            // The log is halted again, because it has signed 311 records.
            String ofProject = "--project=" + project.id();
            assertThat(run(at, database, "log", "resume", ofProject).exitCode()).isZero();
            assertThat(ask(at, "/log/1/checkpoint").body()).contains("log-halted", "311");

            project = redacting;
            Result replayed = run(at, database, "redact", "--replay=" + newest);
            assertThat(replayed.exitCode())
                    .as(replayed.error() + replayed.output())
                    .isZero();
            assertThat(ask(at, "/" + id).body()).contains("\"redacted\"").doesNotContain("\"100\"");
            project = reading;
            assertThat(run(at, database, "log", "next-epoch", ofProject).exitCode())
                    .isZero();
            Await.until(
                    "the next log has begun",
                    () -> ask(at, "/log/2/checkpoint").body().contains("\n301\n"));
            String nextKey = Json.mapper()
                    .readTree(ask(at, "/log").body())
                    .get("vkeys")
                    .get(0)
                    .textValue();
            Path file = folder.resolve("proved");
            Result exported = run(at, database, "export", "--proof", "--vkey=" + nextKey, "-o", file.toString());
            assertThat(exported.exitCode()).as(exported.error()).isZero();
            assertEnds(0, "1 value is redacted", "check", file.toString(), "--vkey=" + nextKey);
            // Up to the backup the records are those that were signed before.
            Result same = run(at, database, "verify", "--against=" + kept, "--vkey=" + vkey);
            assertThat(same.output()).contains("the first 300 as the log has signed");
            assertThat(same.exitCode()).isZero();
            assertThat(run(at, database, "verify", "--against=" + later, "--vkey=" + vkey)
                            .exitCode())
                    .isEqualTo(1);
            copy.process().destroy();
            copy.awaitEnd();
        }
    }

    private static void operate(Path data, String... command) throws Exception {
        try (ServiceProcess program = ServiceProcess.start(Map.of("ANNALS_DATA_DIR", data.toString()), command)) {
            int exitCode = program.awaitEnd();
            assertThat(exitCode).as(String.join("\n", program.output)).isZero();
        }
    }

    /** The key, and beside it what it has signed, are not in a backup. */
    private static void copyKey(Path restored) throws IOException {
        Path data = directory.resolve("data");
        Files.copy(data.resolve("log-key"), restored.resolve("log-key"));
        Path seen = Files.createDirectories(restored.resolve("log-key.seen"));
        try (Stream<Path> notes = Files.list(data.resolve("log-key.seen"))) {
            for (Path note : notes.toList()) {
                Files.copy(note, seen.resolve(note.getFileName()));
            }
        }
    }
}
