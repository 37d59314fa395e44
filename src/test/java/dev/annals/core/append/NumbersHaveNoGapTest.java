package dev.annals.core.append;

import static dev.annals.AuditLogFixture.batch;
import static dev.annals.AuditLogFixture.pathOf;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.SqlFixture;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Thousands of concurrent appends that want a number, of which every fifth fails: by an id that is taken, by a sequence
 * that is not there, by a value that the database refuses, alone or after other records of its request. Meanwhile the
 * server ends connections in the middle of appends.
 */
@QuarkusTest
@Timeout(300)
class NumbersHaveNoGapTest {

    private static final int APPENDS = Load.times(1_000, 10_000);
    private static final int IN_FLIGHT = 500;
    private static final Pattern VALUE = Pattern.compile("\"values?\":\\[?(\\d+)");
    /** The project has a record with this id. */
    private static final UUID TAKEN = UUID.randomUUID();

    private static final String END_ONE_THAT_APPENDS = """
            select count(*) filter (where pg_terminate_backend(pid)) from (
              select pid from pg_stat_activity
              where datname = current_database() and application_name = 'annals' and state = 'active'
                and query like '%insert into annals.audit_record%' limit 1) as appending
            """;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/v1/")
    URI api;

    // HTTP/2 has a limit of its own for what is in flight.
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final Queue<Long> answered = new ConcurrentLinkedQueue<>();
    private final AtomicInteger stored = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger killed = new AtomicInteger();
    private Project project;

    @BeforeEach
    void makeProject() throws SQLException {
        project = log.newProject();
        assertThat(append("{\"id\": \"" + TAKEN + "\", \"action\": \"was here first\"}")
                        .join()
                        .statusCode())
                .isEqualTo(201);
        log.run("alter table annals.audit_record add constraint no_poison check (action <> 'poison') not valid");
    }

    @AfterEach
    void checkFeed() throws SQLException {
        log.run("alter table annals.audit_record drop constraint no_poison");
        log.checkFeed(project.id());
    }

    @Test
    void appendsOfWhichEveryFifthFailsLeaveTheNumbersFromOneOnWithoutAGap() throws Exception {
        define("invoice", "SYNCHRONOUS");
        int stored = 4 * APPENDS / 5;
        appendAll(APPENDS, i -> append(body(i, ", \"number\": {\"sequence\": \"invoice\"}")));
        assertThat(this.stored).hasValue(stored);
        assertThat(refused).hasValue(APPENDS - stored);
        assertThat(killed).as("connections that were ended").hasPositiveValue();
        List<Long> fromOneOn = LongStream.rangeClosed(1, stored).boxed().toList();
        assertThat(numbers("number_value")).as("along the feed").isEqualTo(fromOneOn);
        assertThat(answered).containsExactlyInAnyOrderElementsOf(fromOneOn);
        assertThat(draw("invoice").join()).isEqualTo(stored + 1);
    }

    @Test
    void numbersThatAreDrawnInTransactionsOfTheirOwnAreSeenToLeaveGaps() throws Exception {
        define("naive", "ASYNCHRONOUS");
        appendAll(
                1_000,
                i -> draw("naive")
                        .thenCompose(value -> append(body(i, ", \"metadata\": {\"number\": " + value + "}"))));
        List<Long> numbers = numbers("(metadata ->> 'number')::bigint");
        assertThat(numbers).hasSize(800).doesNotHaveDuplicates();
        assertThat(numbers.stream().mapToLong(Long::longValue).max().orElseThrow())
                .as("the greatest number")
                .isGreaterThan(800);
        assertThat(numbers)
                .as("along the feed")
                .isNotEqualTo(numbers.stream().sorted().toList());
    }

    private interface Append {
        CompletableFuture<HttpResponse<String>> send(int i);
    }

    private void appendAll(int count, Append append) throws Exception {
        Semaphore inFlight = new Semaphore(IN_FLIGHT);
        AtomicBoolean done = new AtomicBoolean();
        FutureTask<Void> killer = new FutureTask<>(() -> endConnections(done));
        new Thread(killer).start();
        Queue<String> wrong = new ConcurrentLinkedQueue<>();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            inFlight.acquire();
            all.add(append.send(i).handle((answer, failure) -> {
                inFlight.release();
                if (failure != null || !take(number, answer)) {
                    wrong.add(number + ": " + (failure == null ? answer.statusCode() + answer.body() : failure));
                }
                return null;
            }));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
        done.set(true);
        killer.get();
        assertThat(wrong).isEmpty();
    }

    private static boolean fails(int i) {
        return i % 5 == 4;
    }

    /** Whether the answer is what it should be. */
    private boolean take(int i, HttpResponse<String> answer) {
        if (fails(i)) {
            refused.incrementAndGet();
            return answer.statusCode() == 409 || answer.statusCode() == 422;
        }
        stored.incrementAndGet();
        Matcher value = VALUE.matcher(answer.body());
        if (value.find()) {
            answered.add(Long.valueOf(value.group(1)));
        }
        // 200 where the connection ended between its commit and the answer: sent again, the record is found stored.
        return answer.statusCode() == 201 || answer.statusCode() == 200;
    }

    private static String body(int i, String number) {
        String good = "{\"action\": \"numbered\"" + number + "}";
        if (!fails(i)) {
            return good;
        }
        String taken = "{\"id\": \"" + TAKEN + "\", \"action\": \"numbered\"" + number + "}";
        // Only some: a batch with such a record is written request by request.
        if (i % 1_000 < 50) {
            return "{\"action\": \"poison\"" + number + "}";
        }
        return switch (i / 5 % 4) {
            case 0 -> taken;
            case 1 -> batch(good, good, taken);
            case 2 -> """
                    {"action": "numbered", "number": {"sequence": "unknown"}}""";
            default -> batch(good, """
                    {"action": "numbered", "number": {"sequence": "unknown"}}""");
        };
    }

    /** Ends connections that append at this moment, one after the other. */
    private Void endConnections(AtomicBoolean done) throws SQLException {
        try (Connection connection = log.database().connect()) {
            for (int i = 0; i < 12 && !done.get(); ) {
                if (SqlFixture.numbers(connection, END_ONE_THAT_APPENDS).get(0) > 0) {
                    killed.incrementAndGet();
                    i++;
                    // Until the next one, as much work as this one could disturb.
                    int before = stored.get();
                    while (stored.get() < before + 200 && !done.get()) {
                        LockSupport.parkNanos(1_000_000);
                    }
                }
            }
        }
        return null;
    }

    private CompletableFuture<Long> draw(String sequence) {
        return send("POST", "sequences/" + sequence + "/values", "").thenApply(answer -> {
            Matcher value = VALUE.matcher(answer.body());
            assertThat(value.find()).as(answer.body()).isTrue();
            return Long.valueOf(value.group(1));
        });
    }

    private void define(String sequence, String kind) {
        assertThat(send("PUT", "sequences/" + sequence, "{\"kind\": \"" + kind + "\"}")
                        .join()
                        .statusCode())
                .isEqualTo(201);
    }

    private CompletableFuture<HttpResponse<String>> append(String body) {
        return send("POST", pathOf(body), body);
    }

    private CompletableFuture<HttpResponse<String>> send(String method, String path, String body) {
        return http.sendAsync(
                HttpRequest.newBuilder(api.resolve(path))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Content-Type", "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body, StandardCharsets.UTF_8))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    /** Reads the numbers of the project's records, in the order of the feed. */
    private List<Long> numbers(String expression) throws SQLException {
        return log.numbers("select " + expression + " from annals.feed where action = 'numbered' and project_id = '"
                + project.id() + "' order by sequence_id");
    }
}
