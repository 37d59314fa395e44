package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static dev.annals.AuditLogFixture.LOGS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.kernel.database.UnreliablePath;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import io.restassured.path.json.JsonPath;
import jakarta.enterprise.inject.Alternative;
import jakarta.inject.Singleton;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** However a batch of NDJSON fails in part, the feed has the lines in the order of the body. */
@QuarkusTest
@OneByOne
@WithTestResource(UnreliablePath.class)
@TestProfile(LinesKeepTheirOrderIT.SmallBatches.class)
@Timeout(120)
class LinesKeepTheirOrderIT extends ProjectTest {

    private static final int BATCH = 50;
    private static final int LINES = 6 * BATCH;

    @TestHTTPResource("/")
    URI service;

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final List<Line> body = new ArrayList<>();

    /** Several batches to a body, two of which find room in the queue, and retries that end soon. */
    public static class SmallBatches implements QuarkusTestProfile {
        @Override
        public Map<String, String> getConfigOverrides() {
            return Map.of("annals.append.retries", "3");
        }

        @Override
        public Set<Class<?>> getEnabledAlternatives() {
            return Set.of(Small.class);
        }
    }

    @Alternative
    @Singleton
    static class Small extends AppendBounds {

        @Override
        public int bulkRecords() {
            return BATCH;
        }

        @Override
        public int queueRequests() {
            return 2;
        }

        @Override
        public int batchRecords() {
            return 2 * BATCH;
        }

        @Override
        public Duration retryDelay() {
            return Duration.ofMillis(1);
        }

        @Override
        public Duration maxRetryDelay() {
            return Duration.ofMillis(2);
        }
    }

    private record Line(UUID id, String fields) {

        @Override
        public String toString() {
            return "{\"id\":\"" + id + "\"," + fields + "}\n";
        }
    }

    @BeforeEach
    void makeBody() {
        IntStream.range(0, LINES).forEach(line -> body.add(plainLine()));
    }

    private static Line plainLine() {
        return new Line(UUID.randomUUID(), "\"action\":\"a\"");
    }

    private void set(int line, String fields) {
        body.set(line - 1, new Line(body.get(line - 1).id(), fields));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, BATCH / 2, BATCH, BATCH + 1, 3 * BATCH, LINES})
    void whereAnIdIsTaken(int line) throws Exception {
        store(body.get(line - 1).id());
        JsonPath summary = send(body);
        assertThat(summary.getList("refusals.line")).containsExactly(line);
        assertOrderOfAllBut(Set.of(line));
    }

    @Test
    void whereAnIdIsTakenInEveryBatch() throws Exception {
        Set<Integer> taken = new TreeSet<>();
        for (int line = 1; line <= LINES; line += BATCH - 1) {
            taken.add(line);
            store(body.get(line - 1).id());
        }
        assertThat(send(body).getList("refusals.line")).containsExactlyElementsOf(taken);
        assertOrderOfAllBut(taken);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, BATCH / 2, BATCH, 2 * BATCH})
    void whereTheDatabaseRefusesAValue(int line) throws Exception {
        set(line, "\"action\":\"poison\"");
        log.run("alter table annals.audit_record add constraint no_poison check (action <> 'poison') not valid");
        try {
            assertThat(send(body).getList("refusals.line")).containsExactly(line);
        } finally {
            log.run("alter table annals.audit_record drop constraint no_poison");
        }
        assertOrderOfAllBut(Set.of(line));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, BATCH / 2, BATCH, 2 * BATCH})
    void whereANumberCannotBeHad(int line) throws Exception {
        defineInvoice();
        for (int numbered = 1; numbered <= LINES; numbered++) {
            set(numbered, "\"action\":\"a\",\"number\":{\"sequence\":\"invoice\"}");
        }
        set(line, "\"action\":\"a\",\"number\":{\"sequence\":\"missing\"}");
        assertThat(send(body).getList("refusals.line")).containsExactly(line);
        assertOrderOfAllBut(Set.of(line));
    }

    @Test
    void whereLinesWithAndWithoutNumbersTakeTurnsAndAreRefused() throws Exception {
        defineInvoice();
        Set<Integer> refused = new TreeSet<>();
        for (int line = 1; line <= LINES; line++) {
            if (line / 20 % 3 == 1) {
                boolean missing = line % 20 == 7;
                set(line, "\"action\":\"a\",\"number\":{\"sequence\":\"" + (missing ? "missing" : "invoice") + "\"}");
                if (missing) {
                    refused.add(line);
                }
            } else if (line % 45 == 3) {
                store(body.get(line - 1).id());
                refused.add(line);
            }
        }
        assertThat(send(body).getList("refusals.line")).containsExactlyElementsOf(refused);
        assertOrderOfAllBut(refused);
    }

    @Test
    void whereLinesComeAgain() throws Exception {
        Set<Integer> refused = new TreeSet<>();
        for (int line = 10; line <= LINES; line += 30) {
            Line earlier = body.get(line - 1 - (line % 60 == 10 ? 3 : 9));
            boolean same = line % 90 == 10;
            body.set(line - 1, same ? earlier : new Line(earlier.id(), "\"action\":\"b\""));
            if (!same) {
                refused.add(line);
            }
        }
        assertThat(send(body).getList("refusals.line")).containsExactlyElementsOf(refused);
        assertThat(log.feed(project.id())).containsExactlyElementsOf(idsOfAllBut(refused));
    }

    @Test
    void whereTheQueueIsFull() throws Exception {
        SubmissionPublisher<ByteBuffer> parts = new SubmissionPublisher<>();
        CompletableFuture<HttpResponse<String>> answer =
                post("application/x-ndjson", HttpRequest.BodyPublishers.fromPublisher(parts));
        List<CompletableFuture<HttpResponse<String>>> others = new ArrayList<>();
        for (int sent = 0; sent < LINES; sent += 2 * BATCH) {
            try (Connection holder = log.connect()) {
                AuditLogFixture.execute(holder, "lock table annals.feed_segment in exclusive mode");
                fillTheQueue(others);
                parts.submit(bytes(body.subList(sent, sent + BATCH)));
                fillTheQueue(others);
                holder.commit();
                // The queue has room again before the refused lines are sent again.
                parts.submit(bytes(body.subList(sent + BATCH, sent + 2 * BATCH)));
            }
        }
        parts.close();
        assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
        CompletableFuture.allOf(others.toArray(CompletableFuture<?>[]::new)).get(30, TimeUnit.SECONDS);
        assertOrderOfAllBut(Set.of());
    }

    /** Sends requests until one is turned away. */
    private void fillTheQueue(List<CompletableFuture<HttpResponse<String>>> others) throws Exception {
        HttpResponse<String> answer = null;
        while (answer == null) {
            others.add(post("application/json", plainLine().toString()));
            answer = others.get(others.size() - 1)
                    .copy()
                    .completeOnTimeout(null, 200, TimeUnit.MILLISECONDS)
                    .get();
        }
        assertThat(answer.statusCode()).isEqualTo(503);
    }

    private static ByteBuffer bytes(List<Line> lines) {
        return ByteBuffer.wrap(text(lines).getBytes(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @ValueSource(strings = {"lose-request-", "lose-answer-"})
    void whereConnectionsBreakAtTheCommit(String mark) throws Exception {
        for (int line = 7; line <= LINES; line += BATCH + 13) {
            set(line, "\"action\":\"a\",\"message\":\"" + mark + UUID.randomUUID() + "\"");
        }
        int before = UnreliablePath.breaks();
        assertThat(send(body).getInt("refused")).isZero();
        assertThat(UnreliablePath.breaks()).isGreaterThan(before);
        assertOrderOfAllBut(Set.of());
    }

    @ParameterizedTest
    @CsvSource({"lose-request-, 1", "lose-request-, 75", "lose-answer-, 75", "lose-request-, 300"})
    void whereTheDatabaseGivesOutNothingBehindIsStoredAndTheProblemTellsWhereToGoOn(String mark, int line)
            throws Exception {
        set(line, "\"action\":\"a\",\"message\":\"" + mark + UUID.randomUUID() + "x4\"");
        HttpResponse<String> answer = post("application/x-ndjson", text(body)).get(30, TimeUnit.SECONDS);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
        JsonPath problem = JsonPath.from(answer.body());
        assertThat(problem.getString("type")).isEqualTo("urn:annals:problem:unavailable");
        int settled = (line - 1) / BATCH * BATCH;
        assertThat(problem.getInt("settled_lines")).isEqualTo(settled);
        assertThat(problem.getInt("stored")).isEqualTo(settled);
        // The sender does not know that the later lines were committed.
        int untold = mark.equals("lose-answer-") ? BATCH : 0;
        assertThat(log.feed(project.id())).isEqualTo(ids(body).subList(0, settled + untold));
        assertThat(send(body.subList(settled, LINES)).getInt("stored_before")).isEqualTo(untold);
        assertOrderOfAllBut(Set.of());
    }

    @Test
    void whereSeveralBodiesAreSentToOneProjectAndEverythingGoesWrong() throws Exception {
        Random random = new Random(5);
        defineInvoice();
        List<List<Line>> bodies = new ArrayList<>();
        Set<UUID> taken = new HashSet<>();
        log.run("alter table annals.audit_record add constraint no_poison check (action <> 'poison') not valid");
        try {
            for (int i = 0; i < 6; i++) {
                List<Line> lines = new ArrayList<>();
                for (int line = 0; line < LINES; line++) {
                    lines.add(new Line(UUID.randomUUID(), randomFields(random)));
                    if (random.nextInt(60) == 0) {
                        taken.add(lines.get(line).id());
                        store(lines.get(line).id());
                    }
                }
                bodies.add(lines);
            }
            List<CompletableFuture<JsonPath>> answers =
                    bodies.stream().map(this::begin).toList();
            for (int i = 0; i < bodies.size(); i++) {
                JsonPath summary = answers.get(i).get(60, TimeUnit.SECONDS);
                assertThat(summary.getInt("stored") + summary.getInt("stored_before") + summary.getInt("refused"))
                        .isEqualTo(LINES);
            }
        } finally {
            log.run("alter table annals.audit_record drop constraint no_poison");
        }
        List<UUID> feed = log.feed(project.id());
        for (List<Line> lines : bodies) {
            List<UUID> wanted = lines.stream()
                    .filter(line ->
                            !line.fields().contains("poison") && !line.fields().contains("missing"))
                    .map(Line::id)
                    .filter(id -> !taken.contains(id))
                    .toList();
            Set<UUID> own = new HashSet<>(wanted);
            assertThat(feed.stream().filter(own::contains)).containsExactlyElementsOf(wanted);
        }
    }

    private static String randomFields(Random random) {
        return switch (random.nextInt(400)) {
            case 0 -> "\"action\":\"poison\"";
            case 1 -> "\"action\":\"a\",\"number\":{\"sequence\":\"missing\"}";
            case 2, 3 -> "\"action\":\"a\",\"number\":{\"sequence\":\"invoice\"}";
            case 4 -> "\"action\":\"a\",\"message\":\"lose-answer-" + UUID.randomUUID() + "\"";
            default -> "\"action\":\"a\"";
        };
    }

    private void assertOrderOfAllBut(Set<Integer> refused) throws Exception {
        List<UUID> wanted = idsOfAllBut(refused);
        Set<UUID> own = new HashSet<>(wanted);
        assertThat(log.feed(project.id()).stream().filter(own::contains)).containsExactlyElementsOf(wanted);
    }

    private List<UUID> idsOfAllBut(Set<Integer> lines) {
        return IntStream.rangeClosed(1, LINES)
                .filter(line -> !lines.contains(line))
                .mapToObj(line -> body.get(line - 1).id())
                .distinct()
                .toList();
    }

    private static List<UUID> ids(List<Line> lines) {
        return lines.stream().map(Line::id).toList();
    }

    /** Stores another record under an id. */
    private void store(UUID id) throws Exception {
        assertThat(status(post("application/json", new Line(id, "\"action\":\"other\"").toString())))
                .isEqualTo(201);
    }

    private void defineInvoice() {
        project.request()
                .contentType("application/json")
                .body("{\"kind\": \"SYNCHRONOUS\"}")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
    }

    private static String text(List<Line> lines) {
        StringBuilder text = new StringBuilder();
        lines.forEach(text::append);
        return text.toString();
    }

    private JsonPath send(List<Line> lines) throws Exception {
        return begin(lines).get(60, TimeUnit.SECONDS);
    }

    private CompletableFuture<JsonPath> begin(List<Line> lines) {
        return post("application/x-ndjson", text(lines)).thenApply(answer -> {
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
            return JsonPath.from(answer.body());
        });
    }

    private static int status(CompletableFuture<HttpResponse<String>> answer) {
        return answer.join().statusCode();
    }

    private CompletableFuture<HttpResponse<String>> post(String type, String text) {
        return post(type, HttpRequest.BodyPublishers.ofString(text));
    }

    private CompletableFuture<HttpResponse<String>> post(String type, HttpRequest.BodyPublisher text) {
        HttpRequest request = HttpRequest.newBuilder(service.resolve(type.equals("application/json") ? LOGS : IMPORT))
                .header("Authorization", "Bearer " + project.token())
                .header("Content-Type", type)
                .POST(text)
                .build();
        return http.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }
}
