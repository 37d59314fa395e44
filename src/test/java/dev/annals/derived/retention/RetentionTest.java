package dev.annals.derived.retention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.log.LogTree;
import dev.annals.derived.log.TreeFixture;
import dev.annals.derived.projection.DerivedFixture;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.OneDatabase;
import dev.annals.tools.ops.Verify;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Expired records are removed from the beginning of a feed. The others, and data derived from them, stay sound. */
@BesideTheService
class RetentionTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    /** For a busy machine. */
    private static final int OLD = 768;

    private static final int MOST_APPENDS = 5;
    private static final int KILLED = 6;

    private final DerivedFixture derived = new DerivedFixture(20260301);
    private final SqlFixture log = derived.log;
    private final UUID project = derived.project;
    private final Vertx vertx = Vertx.vertx();
    private final TestProjector projector = derived.projector();

    @BeforeEach
    void setAPolicy() throws SQLException {
        log.run("select annals.set_retention('" + project + "', 30)");
    }

    @AfterEach
    void everythingIsSound() throws SQLException {
        projector.catchUp();
        StringWriter findings = new StringWriter();
        int exitCode = new Verify().run(log.database(), new PrintWriter(findings));
        assertThat(findings.toString()).startsWith("Sound:");
        assertThat(exitCode).isZero();
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .isEmpty();
        derived.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Retention retention(TestProjector projector, int records) {
        return new Retention(
                OneDatabase.of(derived.pool).home(),
                vertx,
                projector.steps(),
                (LogTree) TreeFixture.logTree(),
                Settings.of(RetentionConfig.class, Map.of()),
                records,
                new SimpleMeterRegistry());
    }

    private long head() throws SQLException {
        return log.number("select coalesce(max(last_sequence_id), 0) from annals.feed_segment where project_id = '"
                + project + "'");
    }

    private long horizon() throws SQLException {
        return log.number("select annals.horizon('" + project + "')");
    }

    private List<Long> left() throws SQLException {
        return log.numbers(
                "select sequence_id from annals.feed where project_id = '" + project + "' order by sequence_id");
    }

    private static List<Long> range(long first, long last) {
        List<Long> range = new ArrayList<>();
        for (long id = first; id <= last; id++) {
            range.add(id);
        }
        return range;
    }

    private void look() {
        look(retention(projector, 500));
    }

    private static void look(Retention retention) {
        retention.look().await().atMost(LIMIT);
    }

    private void assertARebuildDerivesTheSame() throws SQLException {
        derived.assertARebuildDerivesTheSame(projector);
    }

    /** Around the ends of tiles (256) and of the blocks of the search index (1,024). */
    @ParameterizedTest
    @CsvSource({"1,1", "255,0", "255,2", "256,1", "1024,0", "1100,300"})
    void theOldestRecordsAreRemovedAndProjectionsMatchARebuild(int old, int young) throws Exception {
        derived.append(old, 31);
        derived.append(young, 29);
        projector.catchUp();
        List<String> tiles =
                log.texts("select t::text from annals.merkle_tile t where project_id = '" + project + "' order by t");
        String frontier = log.text("select frontier from annals.merkle_log where project_id = '" + project + "'");

        look();
        assertThat(horizon()).isEqualTo(old);
        assertThat(left()).isEqualTo(range(old + 1L, old + young));
        assertThat(log.number("select count(*) from annals.audit_record where project_id = '" + project + "'"))
                .isEqualTo(young);
        assertThat(log.texts(
                        "select t::text from annals.merkle_tile t where project_id = '" + project + "' order by t"))
                .isEqualTo(tiles);
        assertThat(log.text("select frontier from annals.merkle_log where project_id = '" + project + "'"))
                .isEqualTo(frontier);
        assertARebuildDerivesTheSame();

        derived.append(300);
        assertThat(left()).isEqualTo(range(old + 1L, old + young + 300L));
        assertARebuildDerivesTheSame();
    }

    @Test
    void sequenceIdsContinueAfterAllRecordsWereRemoved() throws Exception {
        for (int round = 1; round <= 4; round++) {
            derived.append(100, 40);
            projector.catchUp();
            look();
            assertThat(left()).isEmpty();
            assertThat(head()).isEqualTo(100L * round);
            assertThat(log.number("select count(*) from annals.feed_segment where project_id = '" + project + "'"))
                    .isEqualTo(1);
            assertThat(log.number("select count(*) from annals.append where project_id = '" + project + "'"))
                    .isZero();
        }
        derived.append(3);
        assertThat(left()).containsExactly(401L, 402L, 403L);
        assertARebuildDerivesTheSame();
    }

    /** Alone, and as the first record of an append, which then has its id. */
    @Test
    void aRecordThatExpiredComesAndExpiresAgain() throws Exception {
        UUID id = UUID.randomUUID();
        long expired = 0;
        for (int records : List.of(1, 1, 3, 1, 3, 3)) {
            log.run("insert into annals.audit_record (project_id, id, action, recorded_at, recorded_by_role) select '"
                    + project + "', case n when 1 then '" + id + "'::uuid else gen_random_uuid() end, 'a',"
                    + " now() - interval '40 days', 'x' from generate_series(1, " + records + ") as n");
            assertThat(left()).hasSize(records);
            expired += records;
            projector.catchUp();
            look();
            assertThat(horizon()).isEqualTo(expired);
        }
        assertARebuildDerivesTheSame();
    }

    /** A young record keeps all records after it, however old these are. An append is removed as a whole. */
    @Test
    void onlyTheBeginningOfTheFeedIsRemovedInWholeAppends() throws Exception {
        derived.append(10, 50);
        derived.append(10, 50);
        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record r set recorded_at = now() - interval '29 days' from annals.places('"
                        + project + "', 15, 15) p" + " where r.project_id = '" + project + "' and r.id = p.record_id");
        derived.append(10, 50);
        projector.catchUp();
        look();
        assertThat(left()).isEqualTo(range(11, 30));
    }

    @Test
    void noRecordIsRemovedWithoutAPolicyOrBeforeItIsDerived() throws Exception {
        derived.append(300, 40);
        look();
        assertThat(horizon()).isZero();
        projector.catchUp();
        log.run("select annals.set_retention('" + project + "', null)");
        look();
        assertThat(horizon()).isZero();
        log.run("select annals.set_retention('" + project + "', 41)");
        look();
        assertThat(horizon()).isZero();
        log.run("select annals.set_retention('" + project + "', 39)");
        look();
        assertThat(horizon()).isEqualTo(300);
    }

    @Test
    void batchesAreBoundedAndEachLeavesOneEvent() throws Exception {
        derived.append(1000, 40);
        // Each statement is an append.
        log.run(Collections.nCopies(
                        70,
                        "insert into annals.audit_record (project_id, action, recorded_at) values ('" + project
                                + "', 'alone', now() - interval '40 days')")
                .toArray(String[]::new));
        projector.catchUp();
        String root = log.text(
                "select encode(annals.tree_root(frontier), 'base64') from annals.merkle_log where project_id = '"
                        + project + "'");
        Retention retention = retention(projector, 300);
        List<Long> counts = new ArrayList<>();
        for (long gone = 1; gone > 0; ) {
            gone = retention.remove(project).await().atMost(LIMIT);
            counts.add(gone);
        }
        assertThat(counts).containsExactly(256L, 256L, 256L, 300L, 2L, 0L);
        assertThat(log.texts("""
                        select concat_ws(' ', metadata ->> 'first_sequence_id', metadata ->> 'last_sequence_id', metadata ->> 'count',
                          metadata #>> '{before,tree,size}', metadata #>> '{after,tree,size}')
                        from annals.feed where project_id = annals.administration() and action = 'annals.project.expire'
                          and subject_id = '%s' order by sequence_id""".formatted(project)))
                .containsExactly(
                        "1 256 256 1070 1070",
                        "257 512 256 1070 1070",
                        "513 768 256 1070 1070",
                        "769 1068 300 1070 1070",
                        "1069 1070 2 1070 1070");
        assertThat(log.texts("""
                        select distinct metadata #>> '{after,tree,root}' from annals.feed
                        where project_id = annals.administration() and action = 'annals.project.expire' and subject_id = '%s'
                        """.formatted(project))).containsExactly(root);
    }

    @ParameterizedTest
    @ValueSource(ints = {10_000, 40})
    void dailyCountsMatchTheRemainingRecords(int combinations) throws Exception {
        TestProjector narrow = derived.projector(combinations);
        derived.append(600, 40);
        derived.append(600, 20);
        narrow.catchUp();
        look(retention(narrow, 500));
        assertThat(log.number("select sum(record_count) from annals.daily_total where project_id = '" + project + "'"))
                .isEqualTo(600);
        derived.append(200, 20);
        narrow.catchUp();
        assertThat(log.number("select count(*) from annals.daily_count where record_count < 1"))
                .isZero();
        if (combinations == 10_000) {
            assertARebuildDerivesTheSame();
        }
    }

    @Test
    void removalsBesideAppendsProjectorsAndRebuildsLoseNothing() throws Exception {
        derived.append(OLD, 40);
        projector.catchUp();
        AtomicBoolean done = new AtomicBoolean();
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            TestProjector other = derived.projector();
            running.add(threads.submit(() -> {
                while (!done.get()) {
                    other.scan();
                }
                return null;
            }));
        }
        running.add(threads.submit(() -> {
            for (int n = 0; n < MOST_APPENDS && !done.get(); n++) {
                derived.append(100);
            }
            return null;
        }));
        List<Future<?>> removing = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Retention retention = retention(derived.projector(), 200);
            removing.add(threads.submit(() -> {
                while (horizon() < OLD) {
                    look(retention);
                }
                return null;
            }));
        }
        Await.until("the first ones are gone", () -> horizon() > 0);
        derived.rebuild();
        for (Future<?> each : removing) {
            each.get(2, TimeUnit.MINUTES);
        }
        done.set(true);
        for (Future<?> each : running) {
            each.get(1, TimeUnit.MINUTES);
        }
        threads.shutdown();
        assertThat(left()).isEqualTo(range(OLD + 1, head()));
        assertThat(log.number("select sum((metadata ->> 'count')::bigint) from annals.feed"
                        + " where project_id = annals.administration() and action = 'annals.project.expire'"))
                .isEqualTo(OLD);
        assertARebuildDerivesTheSame();
    }

    /** An old snapshot does not see the removal. Its transaction must not reuse sequence ids. */
    @Test
    void aTransactionWithAnOldSnapshotTakesNoSequenceIdASecondTime() throws Exception {
        derived.append(5, 40);
        projector.catchUp();
        try (Connection old = log.connect()) {
            SqlFixture.execute(old, "set transaction isolation level repeatable read");
            SqlFixture.numbers(old, "select count(*) from annals.feed_segment");
            derived.append(5, 40);
            derived.append(5, 40);
            projector.catchUp();
            look();
            assertThat(horizon()).isEqualTo(15);
            SqlFixture.insert(old, project, "late");
            assertThatThrownBy(old::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        derived.append(1);
        assertThat(left()).containsExactly(16L);
    }

    /** Records are removed only if the stored entries lead to the tree. */
    @Test
    void wrongEntriesAreRefused() throws Exception {
        derived.append(300, 40);
        projector.catchUp();
        assertThat(log.text("select needs_entries from annals.remove_expired('" + project + "', 1000, null)"))
                .isEqualTo("t");
        for (int records : new int[] {0, 43, 44, 45, 300}) {
            assertThatThrownBy(() -> log.run("select annals.remove_expired('" + project
                            + "', 1000, decode(repeat('00', 32 * " + records + "), 'hex'))"))
                    .hasMessageContaining("not the entries of the last 44 records");
        }
        assertThat(horizon()).isZero();
        look();
        assertThat(horizon()).isEqualTo(300);
    }

    /** Each transaction happens as a whole or not at all, wherever its connection breaks. */
    @Test
    void aKilledRemovalLeavesNothingHalf() throws Exception {
        for (int i = 0; i < 12; i++) {
            derived.append(40, 40);
        }
        derived.append(50, 1);
        projector.catchUp();
        AtomicBoolean done = new AtomicBoolean();
        ExecutorService threads = Executors.newSingleThreadExecutor();
        Future<Long> killing = threads.submit(() -> {
            long killed = 0;
            while (!done.get() && killed < KILLED) {
                killed += log.number("select count(pg_terminate_backend(pid)) from pg_stat_activity where datname ="
                        + " current_database() and pid <> pg_backend_pid() and query like '%remove_expired%'"
                        + " and state <> 'idle'");
            }
            return killed;
        });
        Retention retention = retention(projector, 40);
        while (horizon() < 480) {
            try {
                look(retention);
            } catch (RuntimeException e) {
                // The search for projects was killed.
            }
        }
        done.set(true);
        assertThat(killing.get(1, TimeUnit.MINUTES)).isPositive();
        threads.shutdown();
        assertThat(left()).isEqualTo(range(481, 530));
        assertThat(log.number("select sum((metadata ->> 'count')::bigint) from annals.feed"
                        + " where project_id = annals.administration() and action = 'annals.project.expire'"))
                .isEqualTo(480);
        assertARebuildDerivesTheSame();
    }
}
