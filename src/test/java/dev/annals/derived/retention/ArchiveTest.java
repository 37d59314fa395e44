package dev.annals.derived.retention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.log.LogTree;
import dev.annals.derived.log.TreeFixture;
import dev.annals.derived.projection.DerivedFixture;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.OneDatabase;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** If a project requires archives, the database removes no record without one. */
@BesideTheService
class ArchiveTest {

    private static final String REFUSED = "42501";
    private static final String NOT_NEXT = "55000";
    private static final String APPEND_ONLY = "23001";
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final DerivedFixture derived = new DerivedFixture(20261123);
    private final SqlFixture log = derived.log;
    private final UUID project = derived.project;
    private final Vertx vertx = Vertx.vertx();
    private final TestProjector projector = derived.projector();
    private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
    private final Retention retention = new Retention(
            OneDatabase.of(derived.pool).home(),
            vertx,
            projector.steps(),
            (LogTree) TreeFixture.logTree(),
            Settings.of(RetentionConfig.class, Map.of()),
            100,
            metrics);

    /** Three appends of 100 records each, all expired. */
    @BeforeEach
    void appendRecords() throws SQLException {
        log.run(filled("select annals.set_retention(?, 30)"), filled("select annals.require_archive(?, true)"));
        for (int i = 0; i < 3; i++) {
            derived.append(100, 40);
        }
        projector.catchUp();
    }

    @AfterEach
    void eventsMatchTheData() throws SQLException {
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .isEmpty();
        derived.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private String filled(String sql) {
        return sql.replace("?", "'" + project + "'");
    }

    private void note(long first, long last) throws SQLException {
        log.run(noting(first, last));
    }

    private String noting(long first, long last) {
        return filled("select annals.note_archive(?, gen_random_uuid(), " + first + ", " + last
                + ", 'a file', 10, sha256('" + first + "'))");
    }

    private long horizonAfterALook() throws SQLException {
        retention.look().await().atMost(LIMIT);
        return log.number(filled("select annals.horizon(?)"));
    }

    private String as(String role, String... statements) throws SQLException {
        return log.as(role, Stream.of(statements).map(this::filled).toArray(String[]::new));
    }

    private boolean awaits() throws SQLException {
        return log.text(filled("select annals.awaits_archive(?)")).equals("t");
    }

    private double awaiting() {
        return metrics.get("annals.retention.awaiting.archive").gauge().value();
    }

    /** An append is removed as a whole, so an archive of a part of it removes nothing. */
    @Test
    void recordsWithoutAnArchiveStayAndAreReportedAsWaiting() throws Exception {
        assertThat(horizonAfterALook()).isZero();
        assertThat(awaits()).isTrue();
        assertThat(awaiting()).isEqualTo(1);
        note(1, 150);
        assertThat(awaits()).isFalse();
        assertThat(horizonAfterALook()).isEqualTo(100);
        assertThat(horizonAfterALook()).isEqualTo(100);
        assertThat(awaiting()).isEqualTo(1);
        note(151, 300);
        assertThat(horizonAfterALook()).isEqualTo(300);
        assertThat(horizonAfterALook()).isEqualTo(300);
        assertThat(awaits()).isFalse();
        assertThat(awaiting()).isZero();
        assertThat(log.texts(
                        "select concat_ws(' ', metadata #>> '{after,first_sequence_id}', metadata #>> '{after,last_sequence_id}')"
                                + " from annals.feed where project_id = annals.administration() and action = 'annals.archive.note'"
                                + " order by sequence_id"))
                .containsExactly("1 150", "151 300");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 200, 255})
    void theDatabaseRefusesToRemoveRecordsWithoutAnArchive(int most) throws Exception {
        note(1, 150);
        String remove = "select annals.remove_expired(?, " + most + ", null)";
        for (int i = 0; i < 3; i++) {
            as("annals_service", remove);
        }
        assertThat(log.number(filled("select annals.horizon(?)"))).isLessThanOrEqualTo(100);
        assertThat(log.number(filled("select count(*) from annals.feed where project_id = ? and sequence_id > 100")))
                .isEqualTo(200);
    }

    @Test
    void withoutTheRequirementNoRecordWaits() throws Exception {
        log.run(filled("select annals.require_archive(?, false)"));
        assertThat(awaits()).isFalse();
        assertThat(horizonAfterALook()).isEqualTo(300);
    }

    @Test
    void archivesFollowOneAnotherAndOneOfTwoConcurrentOnesIsNoted() throws Exception {
        for (String wrong : List.of(noting(2, 100), noting(1, 301), noting(301, 301))) {
            assertThat(as("none", wrong)).as(wrong).isEqualTo(NOT_NEXT);
        }
        note(1, 100);
        note(1, 100);
        for (String wrong : List.of(
                noting(1, 150),
                noting(100, 150),
                noting(102, 150),
                noting(1, 100).replace("sha256('1')", "sha256('other')"))) {
            assertThat(as("none", wrong)).as(wrong).isEqualTo(NOT_NEXT);
        }
        try (Connection one = log.connect();
                Connection other = log.connect()) {
            SqlFixture.execute(one, noting(101, 200));
            SqlFixture.execute(other, "set lock_timeout = '100ms'");
            assertThatThrownBy(() -> SqlFixture.execute(other, noting(101, 150)))
                    .hasMessageContaining("lock timeout");
            other.rollback();
            one.commit();
            assertThatThrownBy(() -> SqlFixture.execute(other, noting(101, 150)))
                    .hasMessageContaining("not the next to be archived");
        }
        assertThat(log.numbers(filled("select last_sequence_id from annals.archive where project_id = ? order by id")))
                .containsExactlyInAnyOrder(100L, 200L);
    }

    /** Records that expired before archives were required leave no gap between archives. */
    @Test
    void anArchiveMayBeginAfterExpiredRecords() throws Exception {
        log.run(filled("select annals.require_archive(?, false)"));
        assertThat(horizonAfterALook()).isEqualTo(300);
        derived.append(10, 40);
        projector.catchUp();
        log.run(filled("select annals.require_archive(?, true)"));
        assertThat(horizonAfterALook()).isEqualTo(300);
        assertThat(as("none", noting(302, 310))).isEqualTo(NOT_NEXT);
        note(301, 310);
        assertThat(horizonAfterALook()).isEqualTo(310);
    }

    /** Archived records under a hold stay, and records under a hold can be archived. */
    @Test
    void aHoldStopsTheRemovalOfArchivedRecords() throws Exception {
        UUID hold = UUID.randomUUID();
        log.run(filled("select annals.set_hold(?, '" + hold + "', 'u1', null, 'a case')"));
        assertThat(awaits()).as("it waits for the end of the hold").isFalse();
        note(1, 300);
        assertThat(horizonAfterALook()).isZero();
        log.run(filled("select annals.lift_hold(?, '" + hold + "', 'it is closed')"));
        assertThat(horizonAfterALook()).isEqualTo(300);
    }

    @Test
    void aHaltedLogStopsTheRemoval() throws Exception {
        note(1, 300);
        log.run("update annals.merkle_log set halted = 'a test'");
        assertThat(horizonAfterALook()).isZero();
        assertThat(awaits()).isFalse();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "insert into annals.archive values (gen_random_uuid(), ?, 1, 300, 'f', 1, sha256(''))",
                "delete from annals.archive",
                "update annals.archive set last_sequence_id = 300",
                "update annals.project set archive_required = false",
                "insert into annals.restored_archive values (?, 1, 2, '', '', '')",
                "select annals.begin_restored_archive(gen_random_uuid(), 'n', 1, now())",
                "create or replace function annals.archived_through(uuid) returns bigint language sql return 1000",
            })
    void neitherWritersNorTheServiceCanForgeAnArchiveBySql(String sql) throws Exception {
        assertThat(as("annals_service", sql)).isEqualTo(REFUSED);
        assertThat(as("annals_writer", sql)).isEqualTo(REFUSED);
        assertThat(as("annals_writer", noting(1, 100))).isEqualTo(REFUSED);
        assertThat(as("annals_writer", "select annals.require_archive(?, false)"))
                .isEqualTo(REFUSED);
    }

    @Test
    void notedArchivesStay() throws Exception {
        note(1, 100);
        for (String sql : List.of(
                "delete from annals.archive",
                "update annals.archive set last_sequence_id = 300",
                "truncate annals.archive")) {
            assertThat(as("none", sql)).as(sql).isEqualTo(APPEND_ONLY);
        }
    }

    @Test
    void theAdministrationNeedsNoArchive() {
        assertThatThrownBy(() -> log.run("select annals.require_archive(annals.administration(), true)"))
                .hasMessageContaining("keeps its records");
    }
}
