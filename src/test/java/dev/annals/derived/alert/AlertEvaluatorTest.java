package dev.annals.derived.alert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.OneDatabase;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each interval with too many matching records has exactly one event, with several instances and failures. */
@BesideTheService
class AlertEvaluatorTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int INSTANCES = 3;
    private static final int ROUNDS = Load.times(30, 100);
    private static final long SEED = 20260131;
    private static final String NOON = "2026-01-02T12:00:00Z";

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final PoolFixture connections = new PoolFixture(log.database(), Map.of());
    private final Random random = new Random(SEED);
    private final List<Pool> pools = new ArrayList<>();
    private UUID project;

    @BeforeEach
    void makeAProject() throws SQLException {
        project = log.insertProject();
    }

    @AfterEach
    void everythingIsSound() throws SQLException {
        pools.forEach(pool -> pool.close().await().indefinitely());
        log.checkFeed(project);
        log.checkFeed(UUID.fromString(log.text("select annals.administration()")));
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .isEmpty();
    }

    private AlertEvaluator evaluator(int records) {
        Pool pool = connections.open(2);
        pools.add(pool);
        return new AlertEvaluator(
                OneDatabase.of(pool).home(), Settings.of(AlertConfig.class, Map.of()), records, Duration.ofMillis(1));
    }

    private static boolean evaluate(AlertEvaluator evaluator) {
        return evaluator.evaluateDue().await().atMost(LIMIT);
    }

    private void catchUp() {
        AlertEvaluator evaluator = evaluator(1000);
        while (evaluate(evaluator)) {}
    }

    private void set(UUID owner, String name, String q, long threshold, int seconds) throws SQLException {
        log.run("select annals.set_alert('" + owner + "', gen_random_uuid(), '" + name + "', '" + q + "', " + threshold
                + ", " + seconds + ", true, 1000)");
    }

    private void append(String outcome, String recordedAt, int count) throws SQLException {
        log.run("insert into annals.audit_record (project_id, action, outcome, recorded_at) select '" + project
                + "', 'act', '" + outcome + "', '" + recordedAt + "' from generate_series(1, " + count + ")");
    }

    /** The events in the order of the administration's feed, without the sequence id of each. */
    private List<String> raised() throws SQLException {
        return log.texts("""
                select concat_ws(' ', subject_name, metadata ->> 'window_start', metadata ->> 'count', metadata ->> 'first_sequence_id',
                  metadata ->> 'last_sequence_id')
                from annals.feed where project_id = annals.administration() and action = 'annals.alert.raise' order by sequence_id
                """);
    }

    @Test
    void anAlertIsRaisedByTheFirstRecordAboveTheThreshold() throws Exception {
        append("denied", NOON, 10);
        set(project, "denied", "outcome:denied", 3, 300);
        append("denied", NOON, 3);
        append("success", NOON, 5);
        catchUp();
        assertThat(raised()).isEmpty();
        append("denied", NOON, 1);
        catchUp();
        assertThat(raised()).containsExactly("denied 2026-01-02T12:00:00+00:00 4 11 19");
        append("denied", "2026-01-02T12:04:59Z", 50);
        catchUp();
        assertThat(raised()).hasSize(1);
        assertThat(log.text("select concat_ws(' ', match_count, sequence_id, raised_count) from annals.alert"))
                .isEqualTo("54 69 1");
        append("denied", "2026-01-02T12:05:00Z", 4);
        catchUp();
        assertThat(raised())
                .containsExactly(
                        "denied 2026-01-02T12:00:00+00:00 4 11 19", "denied 2026-01-02T12:05:00+00:00 4 70 73");
        assertThat(log.text("""
                select concat_ws(' ', actor_type, subject_type, outcome, metadata - '{project_id,project}'::text[]) from annals.feed
                where project_id = annals.administration() and action = 'annals.alert.raise' order by sequence_id limit 1
                """))
                .isEqualTo("service alert success {\"q\": \"outcome:denied\", \"count\": 4, \"threshold\": 3, "
                        + "\"window_end\": \"2026-01-02T12:05:00+00:00\", \"window_start\": \"2026-01-02T12:00:00+00:00\", "
                        + "\"interval_seconds\": 300, \"last_sequence_id\": 19, \"first_sequence_id\": 11}");
    }

    @Test
    void anIntervalEndsWhereTheNextOneBegins() throws Exception {
        set(project, "two", "outcome:denied", 1, 60);
        append("denied", "2026-01-02T12:00:59.999999Z", 1);
        append("denied", "2026-01-02T12:01:00Z", 1);
        catchUp();
        assertThat(raised()).isEmpty();
        append("denied", "2026-01-02T12:01:59.999999Z", 1);
        catchUp();
        assertThat(raised()).containsExactly("two 2026-01-02T12:01:00+00:00 2 2 3");
    }

    /** Records of a long transaction count when it commits. */
    @Test
    void aLateCommitCountsInTheCurrentInterval() throws Exception {
        set(project, "late", "outcome:denied", 2, 60);
        try (Connection slow = log.connect()) {
            SqlFixture.execute(
                    slow,
                    "insert into annals.audit_record (project_id, action, outcome, recorded_at) values ('" + project
                            + "', 'act', 'denied', '" + NOON + "')");
            append("denied", "2026-01-02T12:01:00Z", 2);
            catchUp();
            assertThat(raised()).isEmpty();
            slow.commit();
        }
        catchUp();
        assertThat(raised()).containsExactly("late 2026-01-02T12:01:00+00:00 3 1 3");
        // One step counts both.
        append("denied", "2026-01-02T12:03:00Z", 1);
        append("denied", "2026-01-02T12:02:00Z", 2);
        catchUp();
        assertThat(raised())
                .containsExactly("late 2026-01-02T12:01:00+00:00 3 1 3", "late 2026-01-02T12:03:00+00:00 3 4 6");
    }

    @Test
    void threeKilledInstancesRaiseEachIntervalOnce() throws Exception {
        set(project, "many", "outcome:denied", 20, 60);
        set(project, "every", "outcome:denied", 0, 60);
        set(project, "not", "-outcome:denied", 5, 120);
        // One instance creates what the instances of a process share.
        catchUp();
        int[] sizes = {7, 100, 1000};
        AtomicBoolean running = new AtomicBoolean(true);
        ExecutorService threads = Executors.newFixedThreadPool(INSTANCES);
        List<Future<?>> ends = new ArrayList<>();
        int killed = 0;
        try {
            for (int i = 0; i < INSTANCES; i++) {
                AlertEvaluator instance = evaluator(sizes[i]);
                ends.add(threads.submit(() -> lookWhile(running, instance)));
            }
            Instant now = Instant.parse(NOON);
            for (int round = 0; round < ROUNDS || (killed < 3 && ends.stream().noneMatch(Future::isDone)); round++) {
                now = now.plusSeconds(random.nextInt(1, 50));
                append(
                        random.nextInt(3) == 0 ? "success" : "denied",
                        now.minusSeconds(random.nextInt(40)).toString(),
                        random.nextInt(1, 25));
                killed += killCounting();
            }
        } finally {
            running.set(false);
            for (Future<?> end : ends) {
                end.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
            threads.shutdownNow();
        }
        catchUp();
        List<String> expected = new ArrayList<>();
        expected.addAll(expected("many", true, 20, 60));
        expected.addAll(expected("every", true, 0, 60));
        expected.addAll(expected("not", false, 5, 120));
        assertThat(raised()).containsExactlyInAnyOrderElementsOf(expected);
        assertThat(raised().stream().filter(event -> event.startsWith("many")).toList())
                .as("in the order of the feed")
                .isEqualTo(expected("many", true, 20, 60))
                .isNotEmpty();
    }

    private static void lookWhile(AtomicBoolean running, AlertEvaluator instance) {
        while (running.get()) {
            try {
                evaluate(instance);
            } catch (RuntimeException e) {
                // The connection of the search itself was killed. The service would search again.
                if (!DatabaseFailure.isTransient(e.getCause() == null ? e : e.getCause())) {
                    throw e;
                }
            }
        }
    }

    /** Kills one connection at most. Returns the number. */
    private int killCounting() throws SQLException {
        return (int) log.number("""
                select count(*) filter (where pg_terminate_backend(pid)) from (
                  select pid from pg_stat_activity
                  where datname = current_database() and application_name = 'annals' and xact_start is not null
                    and query ~ 'alert|COMMIT'
                  order by random() limit 1) as counting
                """);
    }

    /** The expected events, from a plain walk through the feed. */
    private List<String> expected(String name, boolean denied, int threshold, int seconds) throws SQLException {
        List<String> events = new ArrayList<>();
        Map<Long, List<Long>> windows = new HashMap<>();
        long current = Long.MIN_VALUE;
        for (String row :
                log.texts("select concat_ws(' ', sequence_id, outcome, floor(extract(epoch from recorded_at))::bigint)"
                        + " from annals.feed where project_id = '" + project + "' order by sequence_id")) {
            String[] record = row.split(" ", -1);
            if (record[1].equals("denied") != denied) {
                continue;
            }
            long start = Math.floorDiv(Long.parseLong(record[2]), seconds) * seconds;
            current = Math.max(current, start);
            List<Long> window = windows.computeIfAbsent(current, key -> new ArrayList<>());
            window.add(Long.parseLong(record[0]));
            if (window.size() == threshold + 1) {
                events.add(String.join(
                        " ",
                        name,
                        Instant.ofEpochSecond(current).toString().replace("Z", "+00:00"),
                        "" + window.size(),
                        "" + window.get(0),
                        record[0]));
            }
        }
        return events;
    }

    @Test
    void anAlertThatFailsBlocksNoOtherAndReportsWhy() throws Exception {
        set(project, "broken", "outcome:denied", 0, 60);
        set(project, "whole", "outcome:denied", 0, 60);
        String kept = log.text("select q from annals.alert where name = 'broken'");
        log.run("update annals.alert set q = 'last:1h' where name = 'broken'");
        append("denied", NOON, 1);
        catchUp();
        assertThat(raised()).containsExactly("whole 2026-01-02T12:00:00+00:00 1 1 1");
        assertThat(log.text("select last_error from annals.alert where name = 'broken' and failures > 0"))
                .contains("no longer valid");
        log.run("update annals.alert set retry_at = '-infinity', q = '" + kept + "' where name = 'broken'");
        catchUp();
        assertThat(raised()).hasSize(2);
        assertThat(log.number("select sum(failures) from annals.alert")).isZero();
    }

    @Test
    void aClosedProjectOrADisabledAlertCountsNothingNowOrLater() throws Exception {
        set(project, "off", "outcome:denied", 0, 60);
        log.run("select annals.set_alert('" + project
                + "', gen_random_uuid(), 'off', 'outcome:denied', 0, 60, false, 1000)");
        append("denied", NOON, 1);
        catchUp();
        set(project, "off", "outcome:denied", 0, 60);
        catchUp();
        assertThat(raised()).isEmpty();
        append("denied", NOON, 1);
        log.run("select annals.close_project('" + project + "')");
        catchUp();
        assertThat(raised()).isEmpty();
    }

    @Test
    void noAlertRaisesAnother() throws Exception {
        UUID administration = UUID.fromString(log.text("select annals.administration()"));
        set(administration, "raised", "action:annals.alert.raise", 0, 86_400);
        set(administration, "any", "action:annals.*", 0, 86_400);
        set(project, "denied", "outcome:denied", 0, 60);
        append("denied", NOON, 1);
        catchUp();
        catchUp();
        assertThat(raised().stream().map(event -> event.split(" ", -1)[0]).toList())
                .containsExactlyInAnyOrder("any", "denied");
    }

    @Test
    void theSchemaRefusesASecondEventOfAnIntervalAndAStepBack() throws Exception {
        set(project, "denied", "outcome:denied", 0, 60);
        append("denied", NOON, 3);
        String advance = "select annals.advance_alert((select id from annals.alert), %d, '%s', 1, %d, true)";
        log.run(advance.formatted(1, NOON, 1));
        for (String refused : List.of(
                advance.formatted(2, NOON, 2),
                advance.formatted(1, "2026-01-02T12:01:00Z", 1),
                advance.formatted(2, "2026-01-02T11:59:00Z", 1),
                advance.formatted(2, "2026-01-02T12:01:00Z", 0))) {
            assertThatThrownBy(() -> log.run(refused)).isInstanceOf(SQLException.class);
        }
        assertThat(raised()).hasSize(1);
        for (String refused : List.of(
                "update annals.alert set sequence_id = 0",
                "update annals.alert set raised_window = null",
                "update annals.alert set q = 'x'",
                "insert into annals.alert (id, project_id, name, q, threshold, interval_seconds, enabled, sequence_id) values"
                        + " (gen_random_uuid(), '" + project + "', 'x', 'x', 0, 60, true, 0)",
                "delete from annals.alert")) {
            assertThatThrownBy(() -> log.run("set local role annals_service", refused))
                    .hasMessageContaining("permission denied");
        }
    }

    @Test
    void changesByAnotherWayAreFound() throws Exception {
        set(project, "denied", "outcome:denied", 0, 60);
        log.run("update annals.alert set threshold = 7");
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .hasSize(1)
                .allMatch(finding -> finding.startsWith("alert "));
        log.run("update annals.alert set threshold = 0");
        log.run("select annals.delete_alert('" + project + "', 'denied')");
        assertThat(log.texts("select action from annals.feed where subject_type = 'alert' order by sequence_id"))
                .containsExactly("annals.alert.set", "annals.alert.delete");
    }
}
