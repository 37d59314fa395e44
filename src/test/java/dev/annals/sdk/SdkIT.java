package dev.annals.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.tools.ops.LogCommands;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The generated clients, in processes of their own against the packaged service. It takes longest, and so begins first. */
@Slow
@Order(1)
@Timeout(600)
class SdkIT extends ClientProcess {

    private static final Path EXAMPLES = Path.of("examples", "follow");
    private static final int MANY = 100_000;
    private static final int KILLS = Load.times(2, 8);
    private static final int BACKLOG = Load.times(1_500, 4_000);
    private static final int VERIFIED_KILLS = 2;
    private static final int VERIFIED_BACKLOG = Load.times(600, 1_500);

    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @ParameterizedTest
    @ValueSource(strings = {"Tour.java", "tour.ts"})
    void theClientAppendsPagesPollsAndTellsProblems(String tour) throws Exception {
        takeTour(tour);
    }

    @ParameterizedTest
    @ValueSource(strings = {"tour.py", "tour.go", "tour.rs", "tour.cs"})
    @TakesLong
    void soDoThoseInOtherLanguages(String tour) throws Exception {
        takeTour(tour);
    }

    private void takeTour(String tour) throws Exception {
        SdkProgram program = SdkProgram.of(Path.of("src/test/sdk", tour));
        Project project = service.newProject();

        process = program.start(folder, service.uri(), project.token());

        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(output()).endsWith("tour complete" + System.lineSeparator());
        assertThat(process.exitValue()).isZero();
        assertThat(log().checkFeed(project.id())).isEqualTo(6);
    }

    @Test
    void theClientsAreGeneratedFromTheContractThatIsServed() throws Exception {
        byte[] generatedFrom = Files.readAllBytes(Path.of("openapi.yaml"));

        byte[] served = HTTP.send(
                        HttpRequest.newBuilder(service.uri().resolve("/q/openapi"))
                                .build(),
                        HttpResponse.BodyHandlers.ofByteArray())
                .body();
        assertThat(served).isEqualTo(generatedFrom);
        assertThat(SdkProgram.languages())
                .containsExactlyInAnyOrder("java", "typescript", "python", "go", "rust", "csharp");
    }

    @Test
    @TakesLong
    void aJavaFollowerThatIsKilledAgainAndAgainHasEveryRecordOnce() throws Exception {
        followWhileKilled(SdkProgram.of(EXAMPLES.resolve("Follow.java")), new FileCopy(folder));
    }

    @Test
    @TakesLong
    void aTypeScriptFollowerThatIsKilledAgainAndAgainHasEveryRecordOnce() throws Exception {
        followWhileKilled(SdkProgram.of(EXAMPLES.resolve("follow.ts")), new FileCopy(folder));
    }

    @Test
    @TakesLong
    void aPythonFollowerThatIsKilledAgainAndAgainHasEveryRecordOnce() throws Exception {
        followWhileKilled(SdkProgram.of(EXAMPLES.resolve("follow.py")), new DatabaseCopy(folder));
    }

    @Test
    @TakesLong
    void aTypeScriptClientFollowsManyRecordsWithoutLoss() throws Exception {
        SdkProgram program = SdkProgram.of(EXAMPLES.resolve("follow.ts"));
        Project project = service.newProject();
        load(project, MANY);

        process = program.start(folder, service.uri(), project.token());
        awaitEnd(new FileCopy(folder), MANY);

        assertThat(log().checkFeed(project.id())).isEqualTo(MANY);
    }

    @Test
    void aJavaFollowerCopiesWhateverARecordMayHold() throws Exception {
        SdkProgram program = SdkProgram.of(EXAMPLES.resolve("Follow.java"));
        Project project = service.newProject();
        String name = "n".repeat(60_000);
        String large = "9".repeat(308);
        String small = "0." + "0".repeat(300) + "12345678901234567890";
        String records = """
                {"action": "a", "metadata": {"%s": 1}}
                {"action": "b", "metadata": {"l": %s, "s": %s}}
                """.formatted(name, large, small);
        append(project, records, 2);

        process = program.start(folder, service.uri(), project.token());
        awaitEnd(new FileCopy(folder), 2);

        assertThat(Files.readString(folder.resolve("records.ndjson"))).contains(name, large, small);
    }

    @Test
    void theJavaVerifierHoldsAgainstWhatOthersHaveComputed() throws Exception {
        SdkProgram vectors = SdkProgram.java(Files.readString(Path.of("src/test/sdk/Vectors.java")), "Vectors");
        Path file =
                Path.of("src/test/resources/dev/annals/proof/leaf-vectors.json").toAbsolutePath();

        process = vectors.start(folder, service.uri(), "", Map.of("ANNALS_VECTORS", file.toString()));

        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(output()).isEqualTo("all vectors hold" + System.lineSeparator());
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "ts"})
    void aVerifyingFollowerThatIsKilledHasEveryRecordOnceAndNothingThatTheLogHasNotSigned(String language)
            throws Exception {
        SdkProgram program = verifying(language);
        Project project = service.newProject();
        Map<String, String> vkey = vkey(project);
        int copied = followWhileKilled(program, new FileCopy(folder), project, vkey, VERIFIED_KILLS, VERIFIED_BACKLOG);

        load(project, 5);
        HttpServer liar = liar(project.token());
        try {
            URI url = URI.create("http://127.0.0.1:" + liar.getAddress().getPort());
            awaitRefusal(program.start(folder, url, project.token(), vkey), copied, "are not those of the log");
        } finally {
            liar.stop(0);
        }

        forgeHistory(project, copied + 5);
        awaitRefusal(
                program.start(folder, service.uri(), project.token(), vkey),
                copied,
                "does not continue that of " + copied);
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "ts"})
    void aVerifyingFollowerTakesAValueForRedactedOnlyIfTheLogSaysSo(String language) throws Exception {
        SdkProgram program = verifying(language);
        Project project = service.newProject("read", "write", "redact");
        Map<String, String> vkey = vkey(project);
        load(project, 5);
        redact(project, 3);
        process = program.start(folder, service.uri(), project.token(), vkey);
        awaitEnd(new FileCopy(folder), 6);

        append(project, "{\"action\": \"a\", \"message\": \"secret\"}\n", 1);
        log().redactSilently(
                        project.id(),
                        log().text("select id from annals.feed where project_id = '" + project.id()
                                + "' and sequence_id = 7"));
        awaitRefusal(
                program.start(folder, service.uri(), project.token(), vkey),
                6,
                "lacks its message, and no annals.redact record of the log says so");
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "ts"})
    void aVerifyingFollowerOfALogThatHasEndedSaysSoAndGoesOnOnlyWithTheKeyOfTheNext(String language) throws Exception {
        SdkProgram program = verifying(language);
        Project project = service.newProject("read", "write", "redact");
        Map<String, String> vkey = vkey(project);
        load(project, 5);
        process = program.start(folder, service.uri(), project.token(), vkey);
        awaitEnd(new FileCopy(folder), 5);
        LogCommands.nextEpoch(service.database(), project.id(), false);
        redact(project, 3);
        Await.until(
                "the next log has all",
                () -> get("/v1/project-logs/log/2/checkpoint", project.token()).contains("\n6\n"));

        String ended = "/log/1 has ended with 5 records";
        awaitRefusal(program.start(folder, service.uri(), project.token(), vkey), 5, ended);
        // Only the next log reports redactions since.
        Path empty = Files.createDirectory(folder.resolve("empty"));
        process = program.start(empty, service.uri(), project.token(), vkey);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Files.readString(empty.resolve(SdkProgram.OUTPUT))).contains("FeedNotProved", ended);
        assertThat(new FileCopy(empty).sequenceIds()).isEmpty();

        String both = vkey.get("ANNALS_VKEY") + " " + vkey(project).get("ANNALS_VKEY");
        process = program.start(folder, service.uri(), project.token(), Map.of("ANNALS_VKEY", both));
        awaitEnd(new FileCopy(folder), 6);
    }

    private void redact(Project project, int sequenceId) throws Exception {
        String id = log().text("select id from annals.feed where project_id = '" + project.id() + "' and sequence_id = "
                + sequenceId);
        HttpResponse<String> redacted = HTTP.send(
                HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs/" + id + "/redactions"))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"fields\": [\"metadata\"], \"reason\": \"r\"}"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(redacted.statusCode()).as(redacted.body()).isEqualTo(200);
    }

    /** The follower ends by itself, and leaves the copy and its checkpoint as they were. */
    private void awaitRefusal(Process started, int copied, String why) throws Exception {
        process = started;
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(process.exitValue()).isEqualTo(1);
        assertThat(output()).contains("FeedNotProved", why);
        assertThat(new FileCopy(folder).sequenceIds()).isEqualTo(upTo(copied));
        assertThat(Files.readString(folder.resolve("records.ndjson.cursor"))).contains("\n" + copied + "\n");
    }

    /** A proxy, or a dishonest service, that changes one record of a page. */
    private HttpServer liar(String token) throws IOException {
        HttpServer liar = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        liar.createContext("/", exchange -> {
            try (exchange) {
                byte[] body = get(exchange.getRequestURI().toString(), token)
                        .replaceAll("\"number\": ?3\\b", "\"number\": 33")
                        .getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        });
        liar.start();
        return liar;
    }

    /** An attacker with the key and the database changes a record and lets the service sign a log with the changed record. */
    private void forgeHistory(Project project, int records) throws Exception {
        String of = " where project_id = '" + project.id() + "'";
        log().run(
                        "set local session_replication_role = replica",
                        "select from annals.projection_checkpoint" + of + " for update",
                        "update annals.audit_record set action = 'forged'" + of + " and metadata ->> 'number' = '3'",
                        "delete from annals.merkle_tile" + of,
                        "delete from annals.merkle_log" + of,
                        "update annals.projection_checkpoint set sequence_id = 0" + of + " and projection = 'log'");
        Files.deleteIfExists(data.resolve("data")
                .resolve("log-key.seen")
                .resolve(project.id().toString()));
        load(project, 5);
        String signed = "\n" + (records + 5) + "\n";
        Await.until(
                "the other history is signed",
                () -> get("/v1/project-logs/log/1/checkpoint", project.token()).contains(signed));
    }

    private static SdkProgram verifying(String language) throws Exception {
        return SdkProgram.of(EXAMPLES.resolve(language.equals("java") ? "FollowVerified.java" : "followVerified.ts"));
    }

    private Map<String, String> vkey(Project project) throws Exception {
        Matcher vkey =
                Pattern.compile("\"vkeys\":\\[\"([^\"]+)\"").matcher(get("/v1/project-logs/log", project.token()));
        assertThat(vkey.find()).isTrue();
        return Map.of("ANNALS_VKEY", vkey.group(1));
    }

    private String get(String path, String token) throws IOException, InterruptedException {
        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(service.uri().resolve(path))
                        .header("Authorization", "Bearer " + token)
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    private void followWhileKilled(SdkProgram program, FeedCopy copy) throws Exception {
        followWhileKilled(program, copy, service.newProject(), Map.of(), KILLS, BACKLOG);
    }

    /**
     * Starts the follower, kills it as it gets on, and so again and again; then lets it reach the end of the feed.
     *
     * @return how many records it has copied
     */
    private int followWhileKilled(
            SdkProgram program, FeedCopy copy, Project project, Map<String, String> environment, int kills, int backlog)
            throws Exception {
        int loaded = 0;
        for (int i = 0; i < kills; i++) {
            if (loaded - copy.sequenceIds().size() < backlog) {
                load(project, backlog);
                loaded += backlog;
            }
            long before = copy.progress();
            process = program.start(folder, service.uri(), project.token(), environment);
            while (copy.progress() == before) {
                assertThat(process.isAlive()).as(output()).isTrue();
                Thread.sleep(1);
            }
            // Hits it between two pages, as it reads one, or as it writes one.
            Thread.sleep(
                    ThreadLocalRandom.current().nextLong(100),
                    ThreadLocalRandom.current().nextInt(1_000_000));
            assertThat(process.isAlive()).as(output()).isTrue();
            process.destroyForcibly().waitFor();
            List<Long> copied = copy.sequenceIds();
            assertThat(copied).isEqualTo(upTo(copied.size()));
        }

        process = program.start(folder, service.uri(), project.token(), environment);
        load(project, 5);
        awaitEnd(copy, loaded + 5);

        assertThat(log().checkFeed(project.id())).isEqualTo(loaded + 5);
        return loaded + 5;
    }

    private void awaitEnd(FeedCopy copy, int records) throws Exception {
        while (copy.last() < records) {
            assertThat(process.isAlive()).as(output()).isTrue();
            Thread.sleep(200);
        }
        process.destroyForcibly().waitFor();
        assertThat(copy.sequenceIds()).isEqualTo(upTo(records));
    }

    private static List<Long> upTo(int last) {
        return LongStream.rangeClosed(1, last).boxed().toList();
    }

    private String output() throws Exception {
        return Files.readString(folder.resolve(SdkProgram.OUTPUT));
    }

    private void load(Project project, int records) throws Exception {
        String lines = IntStream.range(0, records)
                .mapToObj(i -> "{\"action\": \"load\", \"metadata\": {\"number\": " + i + "}}\n")
                .collect(Collectors.joining());
        append(project, lines, records);
    }

    private void append(Project project, String lines, int records) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri().resolve("/v1/project-logs/import"))
                .header("Authorization", "Bearer " + project.token())
                .header("Content-Type", "application/x-ndjson")
                .POST(HttpRequest.BodyPublishers.ofString(lines))
                .build();
        HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        assertThat(answer.body()).contains("\"stored\":" + records);
    }

    private SqlFixture log() throws Exception {
        return SqlFixture.on(service.database());
    }

    /** A follower's copy of a feed, as a crash at this moment would leave it. */
    private interface FeedCopy {
        /** Grows with every page. */
        long progress() throws Exception;

        List<Long> sequenceIds() throws Exception;

        /** The last of them, or 0. */
        default long last() throws Exception {
            List<Long> ids = sequenceIds();
            return ids.isEmpty() ? 0 : ids.get(ids.size() - 1);
        }
    }

    /** A file with one record per line, of which those bytes count that the file of the cursor says. */
    private record FileCopy(Path folder) implements FeedCopy {
        private static final Pattern SEQUENCE_ID = Pattern.compile("\"sequence_id\":(\\d+)");
        /** Longer than any record of these tests. */
        private static final int TAIL_BYTES = 100_000;

        @Override
        public long progress() throws Exception {
            Path place = folder.resolve("records.ndjson.cursor");
            return Files.exists(place)
                    ? Long.parseLong(Files.readString(place).strip().split(" ", 2)[0])
                    : 0;
        }

        @Override
        public List<Long> sequenceIds() throws Exception {
            int length = (int) progress();
            if (length == 0) {
                return List.of();
            }
            byte[] bytes = Files.readAllBytes(folder.resolve("records.ndjson"));
            assertThat(bytes[length - 1]).isEqualTo((byte) '\n');
            return new String(bytes, 0, length, StandardCharsets.UTF_8)
                    .lines()
                    .map(FileCopy::sequenceId)
                    .toList();
        }

        /** Without reading all of a long copy, which the follower would have to wait for. */
        @Override
        public long last() throws Exception {
            long length = progress();
            if (length == 0) {
                return 0;
            }
            try (RandomAccessFile file =
                    new RandomAccessFile(folder.resolve("records.ndjson").toFile(), "r")) {
                byte[] tail = new byte[(int) Math.min(length, TAIL_BYTES)];
                file.seek(length - tail.length);
                file.readFully(tail);
                String lines = new String(tail, StandardCharsets.UTF_8).stripTrailing();
                return sequenceId(lines.substring(lines.lastIndexOf('\n') + 1));
            }
        }

        private static long sequenceId(String line) {
            Matcher matcher = SEQUENCE_ID.matcher(line);
            if (!matcher.find() || !line.startsWith("{") || !line.endsWith("}")) {
                throw new AssertionError("no record: " + line);
            }
            return Long.parseLong(matcher.group(1));
        }
    }

    /** A database of SQLite, which Python brings. */
    private record DatabaseCopy(Path folder) implements FeedCopy {
        private static final String QUERY = """
                import os, sqlite3
                if os.path.exists("records.db"):
                    copy = sqlite3.connect("records.db", timeout=60)
                    if copy.execute("select count(*) from sqlite_master where name = 'place'").fetchone()[0]:
                        for row in copy.execute("select sequence_id from record order by rowid"):
                            print(row[0])
                """;

        @Override
        public long progress() throws Exception {
            Path database = folder.resolve("records.db");
            return Files.exists(database) ? Files.size(database) : 0;
        }

        @Override
        public List<Long> sequenceIds() throws Exception {
            Process query = new ProcessBuilder(SdkProgram.PYTHON.toString(), "-c", QUERY)
                    .directory(folder.toFile())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            List<Long> ids = new String(query.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .map(Long::valueOf)
                    .toList();
            assertThat(query.waitFor()).isZero();
            return ids;
        }
    }
}
