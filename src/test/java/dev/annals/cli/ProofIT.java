package dev.annals.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.SqlFixture;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a reader runs who does not trust the operator, against the packaged service and an owner with its database and key. */
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

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(directory.resolve("data"));
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
    }

    @BeforeEach
    void makeProject() throws Exception {
        project = service.newProject();
        vkey = json("/log").get("vkeys").get(0).textValue();
    }

    private record Result(int exitCode, String output, String error) {}

    private Result run(String... arguments) throws Exception {
        ProcessBuilder command = service.client(arguments);
        command.environment().put("ANNALS_TOKEN", project.token());
        command.environment().put("ANNALS_DATABASE_URL", service.database().withPassword());
        Path error = folder.resolve("error");
        Process process = command.redirectError(error.toFile()).start();
        CompletableFuture<Process> end = process.onExit().orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS);
        // Where it has ended by itself, that would close its output before it is read.
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
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs" + path))
                                .header("Authorization", "Bearer " + project.token())
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    private JsonNode json(String path) throws IOException, InterruptedException {
        return Connection.JSON.readTree(get(path));
    }

    private void append(int from, int to) throws Exception {
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
        // Those who ask soon after another share the checkpoint that the other has got.
        Await.until(
                "all records are in the log",
                () -> get("/log/1/checkpoint").lines().toList().get(1).equals(Integer.toString(to)));
    }

    /** The owner changes record 300, and lets the service sign a log in which it has always been so. */
    private void forgeHistory() throws Exception {
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
        append(601, 700);
    }

    @Test
    void anExportProvesItselfAndEveryChangeOfItIsNamed() throws Exception {
        append(1, 600);
        Path file = folder.resolve("proved");
        Result exported = succeed("export", "--proof", "--vkey=" + vkey, "-o", file.toString());
        assertThat(exported.error()).contains("600 records", "verified");
        assertThat(succeed("check", file.toString(), "--vkey=" + vkey).output())
                .startsWith("Verified: records 1 to 600, all there are in the log ");
        assertThat(run("export", "--proof").error()).contains("The service says that its key is " + vkey);
        assertEnds(2, "exists already", "export", "--proof", "-o", file.toString());
        assertEnds(2, "leave --resume", "export", "--proof", "--action=n");
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

    /** What stands between the service and the reader, or the service itself, changes one record of a page. */
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
    void aTailThatFollowsPrintsWhatIsProvedAsItComes() throws Exception {
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
    void whatWasRedactedIsProvedAndIsRedactedAgainWhereABackupBringsItBack() throws Exception {
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
        assertEnds(2, "no other", "redact", id, "--replay=" + file);
        project = reading;
        Await.until("the event is in the log", () -> get("/log/1/checkpoint").contains("\n301\n"));
        succeed("export", "--proof", "--vkey=" + vkey, "-o", file.toString());
        assertThat(Files.readString(file))
                .contains("\"redacted\":{\"message\":")
                .doesNotContain("\"message\":\"100\"");
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
        // as a backup would bring it back
        Project restored = service.newProject();
        project = restored;
        append(id);
        project = service.token(restored, "redact", "read");
        assertEnds(0, "1 redaction is in effect", "redact", "--replay=" + file);
        assertThat(get("/" + id)).contains("\"redacted\"").doesNotContain("\"100\"");
        project = service.token(service.newProject(), "redact");
        assertEnds(5, "1 is refused", "redact", "--replay=" + file);
    }

    private void append(String id) throws Exception {
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs"))
                                .header("Authorization", "Bearer " + project.token())
                                .header("Content-Type", "application/json")
                                .POST(HttpRequest.BodyPublishers.ofString("{\"id\": \"" + id
                                        + "\", \"action\": \"n\", \"message\": \"100\", \"metadata\": {\"n\": 1}}"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
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
                "Sound: 600 records in 1 projects, the first 600 as the log has signed them.",
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
}
