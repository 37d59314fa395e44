package dev.annals.derived.projection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.derived.statistics.CountsFixture;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.Cancellable;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each record counts once, with several instances and failures. */
@BesideTheService
class ProjectorTest {

    private static final int INSTANCES = 3;
    private static final int ROUNDS = Load.times(10, 30);
    private static final long SEED = 20260131;
    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final PoolFixture connections = new PoolFixture(log.database(), Map.of());
    private final Projection counts = CountsFixture.dailyCounts();
    private final Random random = new Random(SEED);
    private final List<Pool> pools = new ArrayList<>();
    private final List<UUID> projects = new ArrayList<>();

    @BeforeEach
    void makeProjects() throws SQLException {
        for (int i = 0; i < 3; i++) {
            projects.add(log.insertProject());
        }
    }

    @AfterEach
    void everyFeedIsWhole() throws SQLException {
        for (UUID project : projects) {
            log.checkFeed(project);
        }
        pools.forEach(pool -> pool.close().await().indefinitely());
    }

    @Test
    void threeInstancesAtOnceCountEachRecordExactlyOnce() throws Exception {
        List<TestProjector> instances = instances(counts);
        TestProjector.projectDuring(instances, () -> {
            for (int i = 0; i < ROUNDS; i++) {
                append(random.nextInt(1, 700));
            }
        });
        instances.get(0).catchUp();
        assertCounted();
    }

    @Test
    void killedInstancesCountEachRecordExactlyOnceAndARebuildGivesTheSame() throws Exception {
        List<TestProjector> instances = instances(counts);
        AtomicInteger killed = new AtomicInteger();
        TestProjector.projectDuring(instances, () -> {
            for (int i = 0; i < ROUNDS || killed.get() < 3; i++) {
                append(random.nextInt(1, 700));
                killed.addAndGet(killProjecting());
            }
        });
        instances.get(0).catchUp();
        assertCounted();
        List<List<String>> live = stored();

        Sql.named("derived/projection/rebuild_projection")
                .bind("name", "statistics")
                .execute(pool())
                .await()
                .indefinitely();
        TestProjector.projectDuring(instances, () -> {
            for (int i = 0; i < 20; i++) {
                killProjecting();
            }
        });
        instances.get(0).catchUp();
        assertThat(stored()).isEqualTo(live);
    }

    /** Counts that are projected differently. */
    private abstract class OtherCounts implements Projection {

        @Override
        public String name() {
            return counts.name();
        }

        @Override
        public Uni<Void> reset(SqlConnection connection, UUID projectId) {
            return counts.reset(connection, projectId);
        }
    }

    /** The counter-example: with the checkpoint in a transaction of its own, counts are wrong. */
    @Test
    void theLoadIsCountedWronglyIfTheCheckpointIsInAnotherTransaction() throws Exception {
        Pool apart = pool();
        Projection broken = new OtherCounts() {
            @Override
            public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
                return apart.withTransaction(other -> counts.project(other, projectId, sequenceId))
                        // A crash between both transactions.
                        .invoke(() -> {
                            if (random.nextInt(2) == 0) {
                                throw new IllegalStateException("crashed");
                            }
                        });
            }
        };
        for (int i = 0; i < 4; i++) {
            append(1000);
        }
        new TestProjector(pool(), List.of(broken), 1000).catchUp();
        assertThat(stored()).isNotEqualTo(expected());
    }

    @Test
    void aProjectThatFailsBlocksNoOtherAndShowsInTheMetrics() throws Exception {
        UUID poisoned = projects.get(1);
        AtomicBoolean poison = new AtomicBoolean(true);
        Projection sometimes = new OtherCounts() {
            @Override
            public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
                return poison.get() && projectId.equals(poisoned)
                        ? connection.query("select 1 / 0").execute().map(rows -> sequenceId)
                        : counts.project(connection, projectId, sequenceId);
            }
        };
        append(100);
        TestProjector projector = new TestProjector(pool(), List.of(sometimes), 1000);
        for (int i = 0; i < 50; i++) {
            projector.scan();
        }
        assertThat(projector.failing("statistics")).isEqualTo(1);
        List<List<String>> expected = expected();
        assertThat(stored().get(0)).isEqualTo(expected.get(0));
        assertThat(stored().get(1)).isEmpty();
        assertThat(stored().get(2)).isEqualTo(expected.get(2));

        poison.set(false);
        projector.catchUp();
        assertThat(projector.failing("statistics")).isZero();
        assertCounted();
    }

    @Test
    void projectsThatAreAFewRecordsBehindShareAStep() throws Exception {
        List<Set<UUID>> steps = new ArrayList<>();
        Projection noted = new OtherCounts() {
            @Override
            public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
                steps.add(Set.of(projectId));
                return counts.project(connection, projectId, sequenceId);
            }

            @Override
            public Uni<Map<UUID, Long>> projectTogether(SqlConnection connection, Map<UUID, Long> sequenceIds) {
                steps.add(sequenceIds.keySet());
                return counts.projectTogether(connection, sequenceIds);
            }
        };
        TestProjector projector = new TestProjector(pool(), List.of(noted), 1000);
        int rounds = 5;
        for (int round = 0; round < rounds; round++) {
            append(5);
            projector.catchUp();
        }
        // Steps may also hold projects of other tests.
        assertThat(steps.stream().filter(step -> projects.stream().anyMatch(step::contains)))
                .hasSizeLessThan(projects.size() * rounds);
        assertCounted();
    }

    /** It holds a checkpoint and sends no more statements. Others get the checkpoint once its transaction times out. */
    @Test
    void aFrozenInstanceLosesItsCheckpointAndTheLagShowsIt() throws Exception {
        UUID held = projects.get(0);
        CountDownLatch holds = new CountDownLatch(1);
        Projection frozen = new OtherCounts() {
            @Override
            public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
                if (!projectId.equals(held)) {
                    return counts.project(connection, projectId, sequenceId);
                }
                holds.countDown();
                return Uni.createFrom().nothing();
            }
        };
        TestProjector other = new TestProjector(pool(), List.of(counts), 1000);
        append(10);
        other.catchUp();
        append(10);
        Pool pool = pool();
        Projector stuck = new TestProjector(pool, List.of(frozen), 1000).projector();
        // There may be more projects than one scan covers.
        Cancellable frozenScans =
                stuck.scan().repeat().indefinitely().subscribe().with(done -> {});
        assertThat(holds.await(30, TimeUnit.SECONDS)).isTrue();
        int[] scans = {0};
        double[] lag = {0};
        Await.until("another instance has counted everything", () -> {
            other.scan();
            lag[0] = Math.max(lag[0], other.lagSeconds("statistics"));
            other.passSecond();
            scans[0]++;
            return stored().equals(expected());
        });
        assertThat(scans[0]).isGreaterThan(1);
        assertThat(lag[0]).isEqualTo(scans[0] - 1);
        frozenScans.cancel();
    }

    @Test
    void theLagIsThatOfTheOldestMissingRecordUnderConstantLoad() throws Exception {
        TestProjector projector = new TestProjector(pool(), List.of(counts), 1000);
        projector.catchUp();
        for (int turn = 0; turn < Load.times(100, 300); turn++) {
            append(5);
            projector.scan();
            // The scan before this one saw records that this one finds taken in.
            assertThat(projector.lagSeconds("statistics")).isLessThanOrEqualTo(1);
            projector.passSecond();
        }
    }

    /** With one project per scan, a round would take many scans. */
    @Test
    void aProjectWithABacklogDoesNotWaitForARound() throws Exception {
        TestProjector projector = new TestProjector(pool(), List.of(counts), 1);
        projector.catchUp();
        int looks = 4;
        append(projects.get(0), looks * TestProjector.STEPS * TestProjector.RECORDS);
        while (taken(projects.get(0)) == 0) {
            projector.scan();
        }
        for (int look = 2; look <= looks; look++) {
            assertThat(projector.scan()).isEqualTo(look < looks);
        }
        assertCounted();
    }

    @Test
    void aProjectWithNewRecordsDoesNotWaitForARound() throws Exception {
        TestProjector projector = oneOfMany();
        append(5);
        assertFoundSoon(projector);
    }

    /** Each writer fills a page of its own, so the page of a rare writer is not the last one. */
    @Test
    void aRareWriterDoesNotWaitForARound() throws Exception {
        try (Connection seldom = log.connect();
                Connection often = log.connect()) {
            append(seldom, 1);
            append(often, 150);
            append(seldom, 1);
            append(often, 300);
            TestProjector projector = oneOfMany();
            append(seldom, 1);
            assertThat(log.number(
                            "select count(*) from annals.feed_segment where ctid > (select ctid from annals.feed_segment"
                                    + " order by xmin::text::bigint desc limit 1)"))
                    .as("places behind the newest one")
                    .isPositive();
            assertFoundSoon(projector);
        }
    }

    /** Many later places are visible before it. */
    @Test
    void aSlowCommitDoesNotWaitForARound() throws Exception {
        log.run("""
                create table gate (open boolean);
                insert into gate values (true);
                create table slow (id integer);
                create function wait_at_gate() returns trigger language plpgsql as $$
                begin
                  perform from gate for share;
                  return null;
                end $$;
                create constraint trigger wait_at_gate after insert on slow deferrable initially deferred
                  for each row execute function wait_at_gate();
                """);
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (Connection gate = log.connect();
                Connection slow = log.connect();
                Connection often = log.connect()) {
            SqlFixture.execute(gate, "update gate set open = false");
            RandomRecords.append(slow, projects.get(0), 1, random);
            SqlFixture.execute(slow, "insert into slow values (1)");
            Future<?> committed = thread.submit(() -> {
                slow.commit();
                return null;
            });
            Await.until("it has its place", () -> log.number("select count(*) from pg_locks where not granted") > 0);
            UUID other = log.insertProject();
            for (int i = 0; i < 300; i++) {
                RandomRecords.append(often, other, 1, random);
                often.commit();
            }
            TestProjector projector = oneOfMany();
            gate.commit();
            committed.get(1, TimeUnit.MINUTES);
            assertFoundSoon(projector);
        } finally {
            thread.shutdownNow();
        }
    }

    @Test
    void recentProjectsAreFoundOnceThoughATransactionStaysOpen() throws Exception {
        RecentProjects recent = new RecentProjects(pool());
        try (Connection open = log.connect()) {
            assertThat(found(recent)).isEmpty();
            RandomRecords.append(open, projects.get(0), 1, random);
            append(1);
            assertThat(found(recent)).containsExactlyInAnyOrderElementsOf(projects);
            assertThat(found(recent)).isEmpty();
            open.commit();
            assertThat(found(recent)).containsExactly(projects.get(0));
            assertThat(found(recent)).isEmpty();
        }
    }

    private static Set<UUID> found(RecentProjects recent) {
        return recent.read().await().indefinitely().projectIds();
    }

    /** Each scan covers one project, of more than fifty. */
    private TestProjector oneOfMany() throws SQLException {
        TestProjector projector = new TestProjector(pool(), List.of(counts), 1);
        for (int other = 0; other < 50; other++) {
            log.insertProject();
        }
        projector.catchUp();
        return projector;
    }

    private void assertFoundSoon(TestProjector projector) throws SQLException {
        int looks = 0;
        while (projector.scan() && looks < 10) {
            looks++;
        }
        assertCounted();
    }

    private void append(Connection connection, int count) throws SQLException {
        for (int i = 0; i < count; i++) {
            RandomRecords.append(connection, projects.get(i % projects.size()), 1, random);
            connection.commit();
        }
    }

    @Test
    void onlyACompleteRoundIsFollowedByTheWholeInterval() {
        Duration interval = Duration.ofHours(1);
        TestProjector ofOne = new TestProjector(pool(), List.of(counts), 1, interval);
        // With the whole interval, it would take an hour.
        assertThat(ofOne.scanAndPause()).isTrue();
        assertThat(ofOne.projector().atEnd()).isFalse();
        TestProjector ofAll = new TestProjector(pool(), List.of(counts), 10_000, interval);
        ofAll.catchUp();
        assertThat(ofAll.scanAndPause()).isFalse();
    }

    @Test
    void scansOfOneProjectEachReachAllProjects() throws Exception {
        append(10);
        new TestProjector(pool(), List.of(counts), 1).catchUp();
        assertCounted();
    }

    private Pool pool() {
        Pool pool = connections.open(2);
        pools.add(pool);
        return pool;
    }

    private List<TestProjector> instances(Projection projection) {
        List<TestProjector> instances = new ArrayList<>();
        for (int i = 0; i < INSTANCES; i++) {
            instances.add(new TestProjector(pool(), List.of(projection), 1000));
        }
        return instances;
    }

    private void append(int count) throws SQLException {
        try (Connection connection = log.connect()) {
            for (UUID project : projects) {
                RandomRecords.append(connection, project, count, random);
            }
            connection.commit();
        }
    }

    private void append(UUID project, int count) throws SQLException {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project, count, random);
            connection.commit();
        }
    }

    private long taken(UUID project) throws SQLException {
        return log.number("select coalesce(max(sequence_id), 0) from annals.projection_checkpoint where project_id = '"
                + project + "' and projection = 'statistics'");
    }

    /** Kills one connection at most. Returns the number. */
    private int killProjecting() throws SQLException {
        return (int) log.number("""
                select count(*) filter (where pg_terminate_backend(pid)) from (
                  select pid from pg_stat_activity
                  where datname = current_database() and application_name = 'annals' and xact_start is not null
                    and (query like '%daily_count%' or query like '%projection_checkpoint%')
                  order by random() limit 1) as projecting
                """);
    }

    private void assertCounted() throws SQLException {
        assertThat(stored()).isEqualTo(expected());
    }

    private List<List<String>> stored() throws SQLException {
        return read("""
                select day, action, coalesce(actor, by_actor::text), outcome, record_count from annals.daily_count where project_id = ?
                union all
                select day, null, null, 'total', record_count from annals.daily_total where project_id = ?
                order by 1, 2, 3, 4
                """);
    }

    private List<List<String>> expected() throws SQLException {
        return read("""
                select ("timestamp" at time zone 'UTC')::date, action, coalesce(actor_id, actor_name, 'true'), outcome, count(*)
                from annals.feed where project_id = ? group by 1, 2, 3, 4
                union all
                select ("timestamp" at time zone 'UTC')::date, action, 'false', outcome, count(*)
                from annals.feed where project_id = ? group by 1, 2, 3, 4
                union all
                select ("timestamp" at time zone 'UTC')::date, null, null, 'total', count(*)
                from annals.feed where project_id = ? group by 1
                order by 1, 2, 3, 4
                """);
    }

    private List<List<String>> read(String sql) throws SQLException {
        List<List<String>> all = new ArrayList<>();
        try (Connection connection = log.connect();
                PreparedStatement select = connection.prepareStatement(sql)) {
            for (UUID project : projects) {
                for (int bind = 1; bind <= select.getParameterMetaData().getParameterCount(); bind++) {
                    select.setObject(bind, project);
                }
                List<String> rows = new ArrayList<>();
                try (ResultSet row = select.executeQuery()) {
                    while (row.next()) {
                        rows.add(row.getString(1) + "|" + row.getString(2) + "|" + row.getString(3) + "|"
                                + row.getString(4) + "|" + row.getLong(5));
                    }
                }
                all.add(rows);
            }
            connection.rollback();
        }
        return all;
    }
}
