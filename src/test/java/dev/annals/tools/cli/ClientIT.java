package dev.annals.tools.cli;

import static dev.annals.Tools.need;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Load;
import dev.annals.PackagedService;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.access.caller.Scope;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands as their users run them, against the packaged service, over its deaths and restarts. */
@Slow
@Order(2)
@Timeout(300)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClientIT {

    /** Formats of exports: one of lines and one of rows, or all. */
    private static final List<String> FORMATS =
            List.of("ndjson", "csv", "cloudevents", "ocsf").subList(0, Load.times(2, 4));

    private static final int ROUNDS = 40;
    private static final int LINES_A_ROUND = 25;
    private static final int LIMIT_SECONDS = 60;

    @TempDir
    static Path directory;

    private static PackagedService service;

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(directory.resolve("data"));
    }

    @AfterAll
    static void stop() throws Exception {
        if (service != null) {
            service.close();
        }
    }

    private record Result(int exitCode, String output, String error) {}

    private static Result run(ProcessBuilder command, @Nullable String input) throws Exception {
        Path error = Files.createTempFile(directory, "error", "");
        Process process = command.redirectError(error.toFile()).start();
        CompletableFuture<Process> end = process.onExit().orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS);
        // Only what still runs: to destroy what has ended closes its output before it is read.
        var unused = end.exceptionally(tooLong -> process.destroyForcibly());
        // Without input, the command has to end by itself.
        try (OutputStream in = input == null ? OutputStream.nullOutputStream() : process.getOutputStream()) {
            in.write((input == null ? "" : input).getBytes(UTF_8));
        } catch (IOException e) {
            // it ended without reading
        }
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        return new Result(end.get().exitValue(), output, Files.readString(error));
    }

    private static Result succeed(ProcessBuilder command, String input) throws Exception {
        Result result = run(command, input);
        assertThat(result.exitCode()).as(result.error()).isZero();
        return result;
    }

    @Test
    @Order(1)
    void recordsThatAreAppendedAndFollowedOverRestartsAreNeitherLostNorRepeated() throws Exception {
        Path cursor = directory.resolve("cursor");
        Process tail = service.client("tail", "--follow", "--json", "--from-start", "--cursor-file=" + cursor)
                .redirectError(directory.resolve("tail.log").toFile())
                .start();
        Process append = service.client("append")
                .redirectError(directory.resolve("append.log").toFile())
                .start();
        try (BufferedReader followed = new BufferedReader(new InputStreamReader(tail.getInputStream(), UTF_8))) {
            FutureTask<Void> restarts = new FutureTask<>(ClientIT::restart);
            try (OutputStream lines = append.getOutputStream()) {
                for (int round = 0; round < ROUNDS; round++) {
                    if (round == 5) {
                        new Thread(restarts).start();
                    }
                    for (int i = 0; i < LINES_A_ROUND; i++) {
                        lines.write(("{\"action\": \"n\", \"message\": \"" + (round * LINES_A_ROUND + i) + "\"}\n")
                                .getBytes(UTF_8));
                    }
                    lines.flush();
                    Thread.sleep(100);
                }
            }
            assertThat(append.waitFor()).as(log("append.log")).isZero();
            restarts.get();
            int count = ROUNDS * LINES_A_ROUND;
            succeed(service.client("append", "--action=end"), "");

            List<JsonNode> records = new ArrayList<>();
            for (String line = followed.readLine(); line != null; line = followed.readLine()) {
                records.add(Json.mapper().readTree(line));
                if (records.get(records.size() - 1).get("action").asText().equals("end")) {
                    break;
                }
            }
            assertThat(records.stream().map(record -> record.get("sequence_id").asInt()))
                    .isEqualTo(IntStream.rangeClosed(1, count + 1).boxed().toList());
            assertThat(records.stream()
                            .limit(count)
                            .map(record -> record.get("message").asText()))
                    .isEqualTo(IntStream.range(0, count)
                            .mapToObj(Integer::toString)
                            .toList());
            assertThat(log("tail.log")).contains("tries again", "answers again");
        } finally {
            append.destroyForcibly();
            tail.destroy();
            tail.waitFor(30, TimeUnit.SECONDS);
        }
        assertThat(tail.isAlive()).isFalse();
        assertThat(Files.readString(cursor)).matches("(1001-[0-9a-f]{8}|1000-[0-9a-f]{8})\n");
        Files.writeString(cursor, "1000\n");
        Result rest = succeed(service.client("tail", "--cursor-file=" + cursor), "");
        assertThat(rest.output()).hasLineCount(1).contains("  1001  end");
        assertThat(succeed(service.client("tail", "--cursor-file=" + cursor), "")
                        .output())
                .isEmpty();
    }

    private static Void restart() throws Exception {
        service.kill();
        service.restart();
        service.terminate();
        service.restart();
        return null;
    }

    private static String log(String name) throws IOException {
        return Files.readString(directory.resolve(name));
    }

    @Test
    @Order(2)
    void anExportIsWholeAndWhatBrokeOffIsResumed() throws Exception {
        succeed(
                service.client("append", "--action=lines", "--message=one,\n\"two\"\r\n=3", "--metadata={\"a\": 1.50}"),
                "");
        succeed(service.client("append", "--action=last"), "");
        for (String format : FORMATS) {
            Path whole = directory.resolve("whole." + format);
            succeed(service.client("export", "--format=" + format, "-o", whole.toString()), "");
            byte[] bytes = Files.readAllBytes(whole);
            Path part = directory.resolve("part." + format);
            for (int length : format.equals("ndjson")
                    ? List.of(0, bytes.length / 2, bytes.length - 1, bytes.length)
                    : List.of(bytes.length / 2)) {
                Files.write(part, Arrays.copyOf(bytes, length));
                succeed(service.client("export", "--format=" + format, "-o", part.toString(), "--resume"), "");
                assertThat(part).hasSameBinaryContentAs(whole);
            }
        }
        Path whole = directory.resolve("whole.ndjson");
        assertThat(succeed(service.client("export"), "").output()).isEqualTo(Files.readString(whole));
        assertThat(run(service.client("export", "-o", whole.toString()), "").exitCode())
                .isEqualTo(2);
    }

    @Test
    @Order(2)
    void anExportIsNotGoneOnWithBehindARecordThatTheFeedNoLongerHas() throws Exception {
        succeed(service.client("append", "--action=kept"), "");
        Result feed = succeed(service.client("tail", "--json", "-n", "1"), "");
        JsonNode last = Json.mapper().readTree(feed.output());
        for (String format : FORMATS) {
            Path file = directory.resolve("rewound." + format);
            String whole =
                    succeed(service.client("export", "--format=" + format), "").output();
            String lost =
                    whole.replace(last.get("id").asText(), UUID.randomUUID().toString());
            assertThat(lost).isNotEqualTo(whole);
            Files.writeString(file, lost);
            assertFails(
                    service.client("export", "--format=" + format, "-o", file.toString(), "--resume"),
                    4,
                    "The file " + file + " has records that the feed does not have");
            assertThat(file).hasContent(lost);
        }
        Path beyond = directory.resolve("beyond");
        Files.writeString(beyond, feed.output().replaceFirst("\"sequence_id\":\\d+", "\"sequence_id\":999999999"));
        assertFails(service.client("export", "-o", beyond.toString(), "--resume"), 4, "Move it elsewhere");
    }

    @Test
    @Order(2)
    @TakesLong
    void aFileThatIsNoExportIsNotResumedAndIsUnchanged() throws Exception {
        Path file = directory.resolve("notes");
        for (String[] attempt : new String[][] {
            {"ndjson", "notes of mine"},
            {"ndjson", "{\"sequence_id\":1,"},
            {"ndjson", "notes\nof mine\n"},
            {"csv", "sequence_id,id,time"},
            {"csv", "name,street\r\n"},
            {"csv", "name,street\r\n\"Jane\",\"Elm Street\"\r\n"},
            {"cloudevents", "{\"sequence_id\":1,\"id\":\"8d8ac610-566d-4ef0-9c22-186b2a5ed793\"}\n"}
        }) {
            Files.writeString(file, attempt[1]);
            assertFails(
                    service.client("export", "--format=" + attempt[0], "-o", file.toString(), "--resume"),
                    2,
                    "name another");
            assertThat(Files.readString(file)).isEqualTo(attempt[1]);
        }
    }

    @Test
    @Order(2)
    void anExportThatBreaksOffIsNotGoneOnWithInAFeedThatWasRewoundMeanwhile() throws Exception {
        String line = "{\"sequence_id\":%d,\"id\":\"%s\"}\n";
        String lost = line.formatted(1, UUID.randomUUID());
        String cursor = "\"http://elsewhere/v1/project-logs?cursor=1-00000000\"";
        AtomicInteger asked = new AtomicInteger();
        try (StubService stub = new StubService(exchange -> {
            if (!exchange.getRequestURI().getPath().endsWith("/export")) {
                String record = line.formatted(1, UUID.randomUUID());
                StubService.answer(
                        exchange, "{\"next\":null,\"poll_more\":" + cursor + ",\"results\":[" + record + "]}", 0);
            } else if (asked.getAndIncrement() == 0) {
                StubService.answer(exchange, lost, 1);
            } else {
                StubService.answer(exchange, line.formatted(2, UUID.randomUUID()), 0);
            }
        })) {
            Result result = run(service.client("export", "--url=" + stub.url()), "");
            assertThat(result.error()).contains("tries again", "sequence id 1", "export again");
            assertThat(result.exitCode()).isEqualTo(4);
            assertThat(result.output()).isEqualTo(lost);
        }
    }

    @Test
    @Order(2)
    @TakesLong
    void anExportThatNeverGetsOnIsGivenUp() throws Exception {
        String header = "sequence_id,id,timestamp\r\n";
        String id = UUID.randomUUID().toString();
        String record = "{\"sequence_id\":1,\"id\":\"" + id + "\"}";
        String cursor = "\"http://elsewhere/v1/project-logs?cursor=1-00000000\"";
        for (boolean begins : new boolean[] {false, true}) {
            AtomicInteger asked = new AtomicInteger();
            try (StubService stub = new StubService(exchange -> {
                if (!exchange.getRequestURI().getPath().endsWith("/export")) {
                    StubService.answer(
                            exchange, "{\"next\":null,\"poll_more\":" + cursor + ",\"results\":[" + record + "]}", 0);
                } else {
                    boolean one = begins && asked.getAndIncrement() == 0;
                    StubService.answer(exchange, header + (one ? "1,\"" + id + "\",\"\"\r\n" : ""), 1);
                }
            })) {
                assertFails(
                        service.client("export", "--format=csv", "--patience=1", "--url=" + stub.url()), 1, "Given up");
            }
        }
    }

    /** Stands in for a service at its worst. */
    private static final class StubService implements AutoCloseable {

        private final HttpServer server;

        StubService(HttpHandler handler) throws IOException {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", handler);
            server.start();
        }

        String url() {
            return "http://127.0.0.1:" + server.getAddress().getPort();
        }

        /** Answers, and breaks off where bytes are missing of what was announced. */
        static void answer(HttpExchange exchange, String text, int missing) throws IOException {
            try (exchange) {
                byte[] bytes = text.getBytes(UTF_8);
                exchange.sendResponseHeaders(200, bytes.length + missing);
                exchange.getResponseBody().write(bytes);
                exchange.getResponseBody().flush();
            }
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    @Test
    @Order(3)
    void refusedLinesAreNamedAndTheOthersStored() throws Exception {
        Result result = run(
                service.client("append"),
                "{\"action\": \"good\"}\nno json\n\n{\"action\": 7}\n{\"id\": null, \"action\": \"good\"}\n");
        assertThat(result.exitCode()).isEqualTo(5);
        assertThat(result.error())
                .contains("Line 2 is refused", "Line 4 is refused", "/action", "2 records are stored")
                .contains("2 are refused");
    }

    /** Alone in its request, it is answered with an error and not with a summary. */
    @Test
    @Order(3)
    void aRecordThatIsRefusedAloneIsNamed() throws Exception {
        Result result = run(service.client("append"), "{\"action\": 7}\n");
        assertThat(result.exitCode()).isEqualTo(5);
        assertThat(result.error()).contains("Line 1 is refused", "/action", "0 records are stored; 1 is refused.");
    }

    @Test
    @Order(4)
    void hostileTextSteersNoTerminal() throws Exception {
        succeed(
                service.client("append"),
                "{\"action\": \"\\u001b[2J\\u009b31m\", \"message\": \"a\\nb\\r\\u0007\\u202e\\u2028\"}\n");
        Result shown = succeed(service.client("tail", "-n", "1"), "");
        assertThat(shown.output()).hasLineCount(1).endsWith("\\u001b[2J\\u009b31m  a\\nb\\r\\u0007\\u202e\\u2028\n");
        Result json = succeed(service.client("tail", "-n", "1", "--json"), "");
        assertThat(json.output()).hasLineCount(1).contains("\\u001B[2J");
        assertThat(json.output().chars()).noneMatch(c -> (c < ' ' && c != '\n') || (c >= 0x7F && c < 0xA0));
        Result found = succeed(service.client("search", "--json", "-n", "1"), "");
        assertThat(found.output()).contains("\\u009b31m");
    }

    @Test
    @Order(5)
    void everyKindOfFailureHasItsExitCodeAndSaysWhatToDo() throws Exception {
        ProcessBuilder noToken = service.client("tail");
        noToken.environment().remove("ANNALS_TOKEN");
        assertFails(noToken, 3, "Set ANNALS_TOKEN");
        ProcessBuilder wrongToken = service.client("tail");
        wrongToken.environment().put("ANNALS_TOKEN", "annals_nobody");
        assertFails(wrongToken, 3, "Check ANNALS_TOKEN");
        ProcessBuilder brokenToken = service.client("tail");
        brokenToken.environment().put("ANNALS_TOKEN", "annals_\u00e4 b");
        assertFails(brokenToken, 2, "a token has no white space");
        assertFails(service.client("tail", "--cursor=999999999"), 4, "--from-start");
        assertFails(service.client("export", "--cursor=999999999"), 4, "Feed rewound");
        assertFails(service.client("tail", "--cursor=garbage"), 2, "does not contain a cursor");
        assertFails(service.client("tail", "--start=yesterday"), 1, "RFC 3339");
        assertFails(service.client("tail", "--colour"), 2, "--colour");
        assertFails(service.client("export", "--resume"), 2, "-o FILE");
        assertFails(service.client("tail", "--url=http://127.0.0.1:1", "--patience=0"), 1, "Check ANNALS_URL");
        Result help = succeed(service.client("help"), "");
        assertThat(help.output())
                .containsSubsequence(
                        "of the client:", "tail", "hold", "of the operator:", "serve", "migrate", "ANNALS_TOKEN")
                .doesNotContain("Run it again");
    }

    @Test
    @Order(6)
    void anAppendWithoutRecordsShowsWhatToDo() throws Exception {
        assertFails(service.client("append"), 2, "--action");
        assertFails(service.client("append", "--message=By hand"), 2, "--action");
        Path script = Path.of("/usr/bin/script");
        need(Files.exists(script), "script, which makes a terminal");
        ProcessBuilder typed = service.client("append");
        typed.command(script.toString(), "-qec", "'" + String.join("' '", typed.command()) + "'", "/dev/null");
        Result result = run(typed, null);
        assertThat(result.output()).contains("--action");
        assertThat(result.exitCode()).isEqualTo(2);
    }

    @Test
    @Order(7)
    @TakesLong
    void aReaderThatWantsNoMoreEndsTheCommandWithoutAWord() throws Exception {
        // More than a pipe holds.
        String lines = "{\"action\": \"fill\", \"message\": \"%s\"}\n"
                .formatted("x".repeat(1_000))
                .repeat(500);
        succeed(service.client("append"), lines);
        for (String[] command : List.of(
                new String[] {"tail", "--from-start"}, new String[] {"export"}, new String[] {"help", "tail"})) {
            ProcessBuilder cut = service.client(command);
            cut.command(inBash("set -o pipefail; \"$0\" \"$@\" | head -c 1", cut.command()));
            Result result = run(cut, "");
            assertThat(result.error()).isEmpty();
            assertThat(result.output()).hasSize(1);
            assertThat(result.exitCode()).isEqualTo(command[0].equals("help") ? 0 : 141);
        }
        ProcessBuilder full = service.client("export");
        full.command(inBash("\"$0\" \"$@\" >/dev/full", full.command()));
        assertFails(full, 1, "No space left");
    }

    @Test
    @Order(8)
    @TakesLong
    void anExportThatIsRefusedLeavesNoFile() throws Exception {
        for (String option : List.of("--format=ndjson", "--format=csv", "--resume", "--proof")) {
            Path file = directory.resolve("refused" + option);
            ProcessBuilder refused = service.client("export", option, "-o", file.toString());
            refused.environment().put("ANNALS_TOKEN", "annals_nobody");
            assertFails(refused, 3, "Check ANNALS_TOKEN");
            assertThat(file).doesNotExist();
        }
        Path proved = directory.resolve("refused-proof");
        assertFails(
                service.client("export", "--proof", "--cursor=999999999", "-o", proved.toString()),
                2,
                "after the last record");
        assertThat(proved).doesNotExist();
        Path kept = Files.createFile(directory.resolve("kept"));
        ProcessBuilder refused = service.client("export", "--resume", "-o", kept.toString());
        refused.environment().put("ANNALS_TOKEN", "annals_nobody");
        assertFails(refused, 3, "Check ANNALS_TOKEN");
        assertThat(kept).exists();
    }

    @Test
    @Order(9)
    void aSearchHasColumnsAtATerminalAndNdjsonInAPipe() throws Exception {
        succeed(service.client("append"), """
                {"action": "vault_open", "actor": {"id": "u-1", "name": "Jane"}, "outcome": "success", "message": "One"}
                {"action": "vault_shut", "actor": {"name": "Joe\\u001b[2J"}, "outcome": "denied", "message": "Two"}
                {"action": "vault_open", "actor": {"name": "\u00dcmit"}, "message": "Three"}
                """);
        Result piped = succeed(service.client("search", "action:vault_* -outcome:DENIED", "last:1h"), "");
        assertThat(piped.output().lines().map(ClientIT::message)).containsExactly("Three", "One");
        Result oldest = succeed(service.client("search", "-n", "1", "--oldest-first", "action:vault_*"), "");
        assertThat(oldest.output().lines().map(ClientIT::message)).containsExactly("One");
        assertThat(oldest.error()).contains("The query may match more than these 1: see -n.");
        assertThat(succeed(service.client("search", "--", "-action:*"), "").output())
                .isEmpty();
        JsonNode two = Json.mapper()
                .readTree(
                        succeed(service.client("search", "actor:joe* two"), "").output());
        for (String id : List.of(two.get("id").asText(), two.get("sequence_id").asText())) {
            for (String[] shown : new String[][] {{"1", "Two"}, {"2", "One", "Two"}, {"4", "One", "Two", "Three"}}) {
                Result near = succeed(service.client("search", "--around=" + id, "-n", shown[0], "action:vault_*"), "");
                assertThat(near.output().lines().map(ClientIT::message))
                        .containsExactlyElementsOf(List.of(shown).subList(1, shown.length));
            }
        }
        String three = Json.mapper()
                .readTree(succeed(service.client("search", "three"), "").output())
                .get("id")
                .asText();
        Result before = succeed(service.client("search", "--around=" + three, "-n", "4", "action:vault_*"), "");
        assertThat(before.output().lines().map(ClientIT::message)).containsExactly("One", "Two", "Three");
        assertFails(
                service.client("search", "--around=00000000-0000-0000-0000-000000000000"), 1, "no record with this id");

        Path script = Path.of("/usr/bin/script");
        need(Files.exists(script), "script, which makes a terminal");
        for (boolean colours : List.of(true, false)) {
            ProcessBuilder typed = service.client("search", "action:vault_*");
            if (!colours) {
                typed.environment().put("NO_COLOR", "1");
            }
            typed.command(script.toString(), "-qec", "'" + String.join("' '", typed.command()) + "'", "/dev/null");
            List<String> shown = run(typed, null).output().lines().toList();
            assertThat(shown).hasSize(4);
            assertThat(shown.get(1).contains("\u001b[1mvault_open\u001b[0m")).isEqualTo(colours);
            assertThat(shown.get(2).contains("\u001b[31mdenied\u001b[0m")).isEqualTo(colours);
            assertThat(shown.get(3).contains("\u001b[32msuccess\u001b[0m")).isEqualTo(colours);
            List<String> plain = shown.stream()
                    .map(line -> line.replaceAll("\u001b\\[[0-9]*m", ""))
                    .toList();
            assertThat(plain.get(0)).matches("TIME +ID +OUTCOME +ACTION +ACTOR +SUBJECT +ADDRESS +MESSAGE");
            assertThat(plain.get(2)).contains("Joe\\u001b[2J").endsWith("Two");
            for (String line : plain) {
                assertThat(line.substring(plain.get(0).indexOf("ACTION"))).matches("(ACTION|vault_).*");
                assertThat(line.substring(plain.get(0).indexOf("MESSAGE"))).matches("MESSAGE|One|Two|Three");
            }
        }
    }

    @Test
    @Order(9)
    void facetsAreColumnsAtATerminalAndJsonInAPipe() throws Exception {
        succeed(service.client("append"), """
                {"action": "tally_open", "actor": {"id": "u-1", "name": "Jane"}, "outcome": "success"}
                {"action": "tally_open", "actor": {"name": "Joe\\u001b[2J"}, "outcome": "denied"}
                {"action": "tally_shut", "actor": {"id": "u-1", "name": "Jane"}}
                """);
        JsonNode piped = Json.mapper()
                .readTree(succeed(service.client("search", "--facets", "-n", "1", "action:tally_*"), "")
                        .output());
        assertThat(piped.path("total").asInt()).isEqualTo(3);
        assertThat(piped.path("facets").path(0).path("values").toString())
                .isEqualTo("[{\"value\":\"tally_open\",\"count\":2}]");
        assertFails(service.client("search", "--facets", "--oldest-first"), 2, "in no order");
        assertFails(service.client("search", "--facets", "-n", "101"), 2, "100 at most");

        Path script = Path.of("/usr/bin/script");
        need(Files.exists(script), "script, which makes a terminal");
        ProcessBuilder typed = service.client("search", "--facets", "action:tally_*");
        typed.environment().put("NO_COLOR", "1");
        typed.command(script.toString(), "-qec", "'" + String.join("' '", typed.command()) + "'", "/dev/null");
        assertThat(run(typed, null).output().lines().toList().subList(0, 8))
                .containsExactly(
                        "ACTION       2  tally_open",
                        "             1  tally_shut",
                        "ACTOR        2  u-1  Jane",
                        "             1  Joe\\u001b[2J",
                        "SUBJECT         (3 without)",
                        "OUTCOME      1  denied",
                        "             1  success",
                        "                (1 without)");
    }

    private static String message(String json) {
        try {
            return Json.mapper().readTree(json).path("message").asText();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @Order(10)
    void anErrorInAQueryIsPointedAt() throws Exception {
        Result wrong = run(service.client("search", "actor:jane", "acton:foo"), "");
        assertThat(wrong.exitCode()).isEqualTo(2);
        assertThat(wrong.output()).isEmpty();
        assertThat(wrong.error().lines().toList().subList(0, 2))
                .containsExactly("  actor:jane acton:foo", "             ^");
        assertThat(wrong.error()).contains("At character 12: there is no field \"acton\"");
        assertFails(service.client("search", "-n", "0"), 2, "-n has to be 1 or more");
    }

    @Test
    @Order(11)
    void tokensAreListedAsTheyAre() throws Exception {
        String project = service.newProject("read").id().toString();
        String listed = succeed(asAdmin("token", "list", project), "").output();
        String old = listed.substring(0, listed.indexOf("\t"));
        succeed(asAdmin("token", "rotate", project, old, "--overlap=0"), "");

        assertThat(succeed(asAdmin("token", "list", project), "").output()).matches("""
                        [0-9a-f-]{36}\tread\texpired \\S+Z\tnever used\t
                        [0-9a-f-]{36}\tread\tvalid\tnever used\t
                        """);
    }

    @Test
    @Order(12)
    @TakesLong
    void argumentsAreTheirBytesWhateverTheLocale() throws Exception {
        for (String locale : List.of("C", "POSIX", "C.UTF-8", "en_US.ISO-8859-1")) {
            ProcessBuilder append = service.client("append", "--action=locale");
            append.command(inBash(
                    "LC_ALL=" + locale + " \"$0\" \"$@\" --message=\"$(printf 'Z\\303\\274rich?')\"",
                    append.command()));
            succeed(append, "");
            ProcessBuilder search = service.client("search", "-n", "1");
            search.command(inBash(
                    "LC_ALL=" + locale + " \"$0\" \"$@\" \"$(printf 'message:z\\303\\274rich')\"", search.command()));
            assertThat(succeed(search, "").output()).contains("Zürich?");
        }
        ProcessBuilder broken = service.client("append", "--action=locale");
        broken.command(inBash("LC_ALL=C \"$0\" \"$@\" --message=\"$(printf '\\374')\"", broken.command()));
        assertFails(broken, 2, "is not UTF-8");
        ProcessBuilder variable = service.client("tail");
        variable.command(
                inBash("LC_ALL=C ANNALS_PROJECT=\"$(printf 'Z\\303\\274rich')\" \"$0\" \"$@\"", variable.command()));
        assertFails(variable, 2, "ANNALS_PROJECT has characters");
    }

    @Test
    @Order(13)
    @TakesLong
    void aPathThatTheLocaleCannotNameIsRefused() throws Exception {
        Path folder = Files.createTempDirectory("annals-locale-");
        String there = "mkdir -p " + folder + "/$(printf 'd\\303\\244t\\303\\244') && cd $_ && LC_ALL=C \"$0\" \"$@\"";
        for (String[] command :
                List.of(new String[] {"export", "--output=file"}, new String[] {"verify"}, new String[] {"serve"})) {
            ProcessBuilder inFolder = service.client(command);
            inFolder.command(inBash(there, inFolder.command()));
            assertFails(
                    inFolder,
                    command[0].equals("serve") ? 1 : 2,
                    folder + "/dätä has characters that cannot be read in this locale. Set LC_ALL=C.UTF-8.");
        }
        ProcessBuilder named = service.client("export");
        named.command(inBash("LC_ALL=C \"$0\" \"$@\" \"--output=$(printf 'd\\303\\244')\"", named.command()));
        assertFails(named, 2, "dä has characters");
        ProcessBuilder absolute = service.client("export", "--output=" + folder.resolve("file"));
        absolute.command(inBash(there, absolute.command()));
        succeed(absolute, "");
    }

    @Test
    @Order(13)
    @TakesLong
    void anUnreadableOrUnwritableFileEndsTheCommand() throws Exception {
        String project = service.newProject("read").id().toString();
        for (String[] command :
                List.of(new String[] {"token", "list", project}, new String[] {"project", "list"}, new String[] {
                    "token", "issue", project, "--scope=read"
                })) {
            ProcessBuilder full = asAdmin(command);
            full.command(inBash("\"$0\" \"$@\" >/dev/full", full.command()));
            assertFails(full, 1, "Standard output cannot be written");
        }
        ProcessBuilder lost = asAdmin("token", "issue", project, "--scope=read");
        lost.command(inBash("\"$0\" \"$@\" >/dev/full", lost.command()));
        assertFails(lost, 1, "exists and is lost: revoke it");
        ProcessBuilder closed = service.client("append");
        closed.command(inBash("\"$0\" \"$@\" <&-", closed.command()));
        assertFails(closed, 2, "No record to append");
        assertFails(
                service.client("stream", "set", "s", "--sink=https://example.org/", "--secret-file=/nosuch/file"),
                2,
                "The file /nosuch/file (--secret-file) cannot be read");
    }

    @Test
    @Order(14)
    void showPrintsJson() throws Exception {
        ProcessBuilder set = service.client("alert", "set", "shown", "--more-than=1", "--in=60", "action:\u009b");
        set.environment()
                .put("ANNALS_TOKEN", service.newProject("read", "stream").token());
        succeed(set, "");
        ProcessBuilder show = service.client("alert", "show", "shown");
        show.environment().put("ANNALS_TOKEN", set.environment().get("ANNALS_TOKEN"));
        String shown = succeed(show, "").output();
        assertThat(shown.chars()).noneMatch(c -> c >= 0x7F && c < 0xA0);
        assertThat(new ObjectMapper().readTree(shown).path("name").asText()).isEqualTo("shown");
    }

    @Test
    @Order(15)
    void withTheOptionEachAnswerIsJson() throws Exception {
        JsonNode project = json(asAdmin("project", "create", "as \u009b json", "--json"));
        String id = project.path("id").asText();
        JsonNode token =
                json(asAdmin("token", "issue", id, "--scope=read", "--scope=write", "--scope=redact", "--json"));
        assertThat(json(asAdmin("token", "list", id, "--json")).path("id")).isEqualTo(token.path("id"));
        assertThat(json(asAdmin("hold", "set", id, "--reason=why", "--json"))
                        .path("reason")
                        .asText())
                .isEqualTo("why");
        assertThat(json(asAdmin("project", "limit", id, "--streams=3", "--json"))
                        .path("streams")
                        .asInt())
                .isEqualTo(3);
        assertThat(succeed(asAdmin("project", "list", "--json"), "").output().lines())
                .allSatisfy(line ->
                        assertThat(Json.mapper().readTree(line).has("name")).isTrue());
        for (String[] command : new String[][] {
            {"append", "--action=a", "--json"},
            {"whoami", "--json"},
            {"erase", "--actor-id=a", "--reason=r", "--dry-run", "--json"}
        }) {
            ProcessBuilder withToken = service.client(command);
            withToken.environment().put("ANNALS_TOKEN", token.path("token").asText());
            assertThat(json(withToken)
                            .has(Map.of("append", "stored", "whoami", "scopes", "erase", "records")
                                    .get(command[0])))
                    .as(command[0])
                    .isTrue();
        }
    }

    @Test
    @Order(16)
    void helpNamesTheScopesOfTheCode() throws Exception {
        String help =
                succeed(service.client("token", "issue", "--help"), "").output().replaceAll("\\s+", " ");
        assertThat(help).contains(Scope.granted().map(Scope::text).collect(Collectors.joining(", ")));
    }

    /** The only line that a command prints. */
    private static JsonNode json(ProcessBuilder command) throws Exception {
        String output = succeed(command, "").output();
        assertThat(output.strip().chars()).noneMatch(c -> c < ' ' || c >= 0x7F && c < 0xA0);
        return Json.mapper().readTree(output);
    }

    private static ProcessBuilder asAdmin(String... command) throws IOException {
        ProcessBuilder builder = service.client(command);
        builder.environment().put("ANNALS_ADMIN_TOKEN", service.adminToken());
        return builder;
    }

    private static List<String> inBash(String line, List<String> command) {
        List<String> whole = new ArrayList<>(List.of("bash", "-c", line));
        whole.addAll(command);
        return whole;
    }

    private static void assertFails(ProcessBuilder command, int exitCode, String advice) throws Exception {
        Result result = run(command, "");
        assertThat(result.error()).contains(advice).doesNotContain("\tat ");
        assertThat(result.exitCode()).as(result.error()).isEqualTo(exitCode);
    }
}
