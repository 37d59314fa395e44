package dev.annals.tools.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A person goes from all records, and nothing else changes: neither other records, nor order, count and proofs. */
@Slow
@Order(2)
@Timeout(300)
class EraseIT {

    private static final String PERSON = "u-4711 \\u001b[31m\\u00fc";
    private static final String PERSON_TEXT = "u-4711 \u001b[31m\u00fc";
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @TempDir
    static Path folder;

    private static PackagedService service;
    private Project project;
    private String vkey;

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(folder.resolve("data"));
    }

    @AfterAll
    static void stop() throws Exception {
        if (service != null) {
            service.close();
        }
    }

    @BeforeEach
    void makeProject() throws Exception {
        project = service.newProject("read", "write", "redact");
        vkey = json("/log").get("vkeys").get(0).textValue();
    }

    @AfterEach
    void theFeedIsWhole() throws Exception {
        SqlFixture.on(service.database()).checkFeed(project.id());
    }

    private record Result(int exitCode, String output, String error) {}

    private ProcessBuilder client(String... arguments) throws Exception {
        ProcessBuilder command = service.client(arguments);
        command.environment().put("ANNALS_TOKEN", project.token());
        command.environment().put("ANNALS_ADMIN_TOKEN", service.adminToken());
        return command;
    }

    private Result run(String... arguments) throws Exception {
        Path error = Files.createTempFile(folder, "error", "");
        Process process = client(arguments).redirectError(error.toFile()).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Result(process.exitValue(), output, Files.readString(error));
    }

    private Result ends(int exitCode, String... arguments) throws Exception {
        Result result = run(arguments);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(exitCode);
        assertThat(result.error()).doesNotContain("\tat ", "\u001b");
        return result;
    }

    private String get(String path) throws Exception {
        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs" + path))
                        .header("Authorization", "Bearer " + project.token())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    private JsonNode json(String path) throws Exception {
        return Json.mapper().readTree(get(path));
    }

    private List<JsonNode> records() throws Exception {
        List<JsonNode> records = new ArrayList<>();
        json("?limit=1000").path("results").forEach(records::add);
        return records;
    }

    private void append(String... records) throws Exception {
        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs/import"))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Content-Type", "application/x-ndjson")
                        .POST(HttpRequest.BodyPublishers.ofString(String.join("\n", records)))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.body()).contains("\"stored\":" + records.length);
    }

    private static String by(String actor, String subject, String more) {
        return """
                {"action": "open", "outcome": "success", "actor": {"type": "user", "id": "%s", "name": "Jane Doe"}, "subject": {"id": "%s"}%s}
                """.formatted(actor, subject, more).strip();
    }

    private void awaitLog(int size) throws Exception {
        Await.until(
                "all records are in the log",
                () -> get("/log/1/checkpoint").lines().toList().get(1).equals(Integer.toString(size)));
    }

    private void appendSome() throws Exception {
        append(
                by(PERSON, "s-1", ", \"ip_address\": \"192.0.2.7\", \"message\": \"Jane came\""),
                by("u-1", "s-1", ", \"message\": \"not she\""),
                by(PERSON, "s-2", ", \"metadata\": {\"agent\": \"Mozilla\"}, \"timestamp\": \"2026-01-01T00:00:00Z\""),
                "{\"action\": \"open\", \"actor\": {\"id\": \"u-2\", \"name\": \"" + PERSON + "\"}}",
                by("u-1", PERSON, ", \"message\": \"about her\""));
    }

    @Test
    void itShowsWhatThereIsAndChangesNothingUntilItIsConfirmed() throws Exception {
        appendSome();
        List<JsonNode> before = records();
        String[] erase = {"erase", "--actor-id=" + PERSON_TEXT, "--reason=Request 17"};
        Result shown = ends(1, erase);
        assertThat(shown.error()).contains("Nothing was redacted");
        assertThat(shown.output())
                .contains(
                        "records\t2\n",
                        "first\t1\t",
                        "last\t3\t2026-01-01T00:00:00",
                        "actor.id\t2\n",
                        "actor.name\t2\n",
                        "ip_address\t1\n",
                        "message\t1\n",
                        "metadata\t1\n");
        assertThat(ends(0, "erase", "--actor-id=" + PERSON_TEXT, "--reason=Request 17", "--dry-run")
                        .output())
                .isEqualTo(shown.output());
        assertThat(records()).isEqualTo(before);
    }

    @Test
    void allRecordsOfThePersonAreRedactedAndNothingElseChanges() throws Exception {
        appendSome();
        awaitLog(5);
        List<JsonNode> before = records();
        Path kept = folder.resolve("checkpoint-" + project.id());
        Files.writeString(kept, get("/log/1/checkpoint"));
        assertThat(ends(0, "erase", "--actor-id=" + PERSON_TEXT, "--reason=Request 17", "--yes")
                        .error())
                .contains("2 records were redacted");

        List<JsonNode> after = records();
        assertThat(after).hasSize(7);
        for (int i : new int[] {1, 3, 4}) {
            assertThat(after.get(i)).isEqualTo(before.get(i));
        }
        for (int i : new int[] {0, 2}) {
            assertThat(after.get(i).path("sequence_id")).isEqualTo(before.get(i).path("sequence_id"));
            assertThat(after.get(i).path("actor").toString()).isEqualTo("{\"type\":\"user\"}");
            assertThat(after.get(i).toString())
                    .doesNotContain("Jane Doe", "Jane came", "u-4711", "192.0.2.7", "Mozilla")
                    .contains("\"redacted\"", "\"outcome\":\"success\"", "\"s-");
        }
        assertThat(after.get(6).path("message").asText()).isEqualTo("Request 17");
        awaitLog(7);
        Path file = folder.resolve("proved-" + project.id());
        ends(0, "export", "--proof", "--vkey=" + vkey, "-o", file.toString());
        ends(0, "check", file.toString(), "--vkey=" + vkey, "--against=" + kept);

        assertThat(ends(0, "erase", "--actor-id=" + PERSON_TEXT, "--reason=Request 17", "--yes")
                        .error())
                .contains("Nothing to redact");
        ends(0, "erase", "--subject-id=" + PERSON_TEXT, "--reason=Request 17", "--yes", "--field=subject.id");
        JsonNode about = records().get(4);
        assertThat(about.path("subject").isMissingNode()).isTrue();
        assertThat(about.path("message").asText()).isEqualTo("about her");
    }

    @Test
    void theSameCommandFinishesAnInterruptedErasureAndRepeatsNothing() throws Exception {
        int count = 300;
        append(IntStream.range(0, count).mapToObj(i -> by(PERSON, "s-" + i, "")).toArray(String[]::new));
        String[] erase = {"erase", "--actor-id=" + PERSON_TEXT, "--reason=Request 17", "--yes"};
        int kills = 0;
        while (kills < 3) {
            int done = json("?limit=1&order=desc")
                    .path("results")
                    .path(0)
                    .path("sequence_id")
                    .asInt();
            Process process = client(erase)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("killed").toFile())
                    .start();
            Await.until(
                    "it has redacted some",
                    () -> json("?limit=1&order=desc")
                                    .path("results")
                                    .path(0)
                                    .path("sequence_id")
                                    .asInt()
                            > done + 20);
            process.destroyForcibly().waitFor();
            kills++;
        }
        long left = json("?limit=1000").path("results").findValues("id").stream()
                .filter(id -> id.asText().equals(PERSON_TEXT))
                .count();
        assertThat(left).as("records that the kills have left").isPositive();
        ends(0, erase);
        String all = get("?limit=1000&cursor=0") + get("?limit=1000&order=desc");
        // Longer than four letters, which a digest may have by chance.
        assertThat(all).doesNotContain("u-4711", "Jane Doe");
        SqlFixture database = SqlFixture.on(service.database());
        assertThat(database.text("""
                        select count(*) || ' ' || count(distinct subject_id) from annals.feed
                        where project_id = '%s' and action = 'annals.redact'
                        """.formatted(project.id()))).isEqualTo(count + " " + count);
    }

    @Test
    @TakesLong
    void heldRecordsStayAndAreNamedAndTheOthersAreRedacted() throws Exception {
        appendSome();
        String hold = ends(0, "hold", "set", project.id().toString(), "--subject-id=s-2", "--reason=Case 12")
                .output()
                .strip();
        assertThat(ends(0, "hold", "list", project.id().toString()).output())
                .contains(hold + "\tsubject s-2\tin force since ", "\tCase 12\n");
        String[] erase = {"erase", "--actor-id=" + PERSON_TEXT, "--reason=Request 17", "--yes"};
        for (String redacted : List.of("1 record was", "0 records were")) {
            assertThat(ends(5, erase).error())
                    .contains("1 record is unchanged. Legal hold: ", hold, redacted + " redacted");
        }
        assertThat(ends(5, "redact", records().get(2).path("id").asText(), "--field=outcome", "--reason=r")
                        .error())
                .contains("Legal hold", hold);
        for (int i = 0; i < 2; i++) {
            assertThat(ends(0, "hold", "lift", project.id().toString(), hold, "--reason=It is closed")
                            .output())
                    .contains("\tlifted ", ": It is closed\t");
        }
        ends(0, erase);
        assertThat(records().stream().map(JsonNode::toString).collect(Collectors.joining()))
                .doesNotContain("Mozilla");
    }

    @Test
    void errorsAreReportedBeforeAnythingIsRedacted() throws Exception {
        appendSome();
        List<JsonNode> before = records();
        for (String[] wrong : new String[][] {
            {"erase", "--reason=r"},
            {"erase", "--reason=r", "--actor-id=a", "--subject-id=s"},
            {"erase", "--actor-id=u-1", "--yes"},
            {"erase", "--actor-id=u-1", "--yes", "--reason=u-1 wants it"},
            {"erase", "--actor-id=u-1", "--yes", "--reason=r", "--field=actor"},
            {"erase", "--actor-id=u-1", "--yes", "--reason=r", "--field=action"}
        }) {
            ends(2, wrong);
        }
        Project whole = project;
        for (String scope : List.of("read", "redact", "write")) {
            project = service.token(whole, scope);
            ends(3, "erase", "--actor-id=u-1", "--yes", "--reason=r");
        }
        project = whole;
        assertThat(records()).isEqualTo(before);
    }

    @Test
    @TakesLong
    void atATerminalItAsks() throws Exception {
        dev.annals.Tools.need(Files.isExecutable(Path.of("/usr/bin/script")), "script, to have a terminal");
        appendSome();
        for (String answer : List.of("y", "no", "yes")) {
            List<String> arguments =
                    client("erase", "--actor-id=u-1", "--reason=Request").command();
            String line =
                    arguments.stream().map(argument -> "'" + argument + "'").collect(Collectors.joining(" "));
            ProcessBuilder terminal = client("erase");
            terminal.command("/usr/bin/script", "-qec", line, "/dev/null").redirectErrorStream(true);
            Process process = terminal.start();
            process.getOutputStream().write((answer + "\n").getBytes(UTF_8));
            process.getOutputStream().flush();
            String output = new String(process.getInputStream().readAllBytes(), UTF_8);
            assertThat(process.waitFor()).as(output).isEqualTo(answer.equals("yes") ? 0 : 1);
            assertThat(output).contains("Type yes").contains(answer.equals("yes") ? "of 2 records" : "Nothing was");
            process.getOutputStream().close();
        }
        assertThat(get("")).doesNotContain("not she", "about her");
    }
}
