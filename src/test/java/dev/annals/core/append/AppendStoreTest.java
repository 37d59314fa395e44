package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.ProjectTest;
import dev.annals.SqlFixture;
import dev.annals.core.append.AppendOutcome.Reason;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.StoredRecord;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The store writes requests together into the real database. */
@QuarkusTest
@Timeout(60)
class AppendStoreTest extends ProjectTest {

    private static final OffsetDateTime NOW = OffsetDateTime.of(2026, 3, 1, 12, 0, 0, 0, ZoneOffset.UTC);

    @Inject
    Appends.Queues queues;

    private AppendStore store;
    private UUID token;

    @BeforeEach
    void findToken() throws SQLException {
        store = queues.of(project.id()).store();
        token = UUID.fromString(
                log.text("select id from annals.access_token where project_id = '" + project.id() + "'"));
    }

    private AuditRecord record(UUID id, String action, String sequence) {
        return new AuditRecord(id, false, action, null, null, null, null, null, NOW, false, null, sequence, false);
    }

    private AuditRecord record(String action) {
        return record(UUID.randomUUID(), action, null);
    }

    private AppendRequest request(AuditRecord... records) {
        return new AppendRequest(project.id(), token, List.of(records), 100);
    }

    private void write(AppendRequest... requests) {
        store.writeOwn(List.of(requests), null)
                .await()
                .atMost(Duration.ofSeconds(30))
                .run();
    }

    private static AppendOutcome outcome(AppendRequest request) throws Exception {
        return request.outcome.get(1, TimeUnit.SECONDS);
    }

    private static List<Long> added(AppendRequest request) throws Exception {
        assertThat(outcome(request)).isInstanceOf(AppendOutcome.Stored.class);
        AppendOutcome.Stored stored = (AppendOutcome.Stored) outcome(request);
        assertThat(stored.added()).isEqualTo(request.records.size());
        return stored.records().stream().map(StoredRecord::sequenceId).toList();
    }

    @Test
    void requestsAreWrittenInOneTransactionAndGetTheirOutcomesLater() throws Exception {
        AppendRequest first = request(record("a"), record("b"));
        AppendRequest second = request(record("c"));
        Runnable rest = writeShared(first, second);
        assertThat(first.outcome).isNotDone();
        assertThat(log.feed(project.id())).hasSize(3);
        rest.run();
        assertThat(added(first)).containsExactly(1L, 2L);
        assertThat(added(second)).containsExactly(3L);
        assertThat(log.text("select count(*) from annals.feed_segment where project_id = '" + project.id() + "'"))
                .isEqualTo("1");
    }

    /** An append has at most 256 records, and one of a single record is placed by another trigger than all others. */
    @ParameterizedTest
    @ValueSource(ints = {257, 258, 513, 769})
    void recordsOfSeveralAppendsKeepTheirOrder(int records) throws Exception {
        List<Long> places = LongStream.rangeClosed(1, records).boxed().toList();
        AppendRequest together = request(records);
        writeShared(together).run();
        assertThat(added(together)).isEqualTo(places);

        AppendRequest apart = request(records);
        write(apart, request(1));
        assertThat(added(apart)).first().isEqualTo(records + 1L);
        assertThat(added(apart)).isSorted();
        assertThat(log.checkFeed(project.id())).isEqualTo(2 * records + 1);
        assertThat(log.number("select count(*) from annals.feed_segment as s where project_id = '" + project.id()
                        + "' and first_sequence_id = last_sequence_id and not exists (select from annals.audit_record as r"
                        + " where r.project_id = s.project_id and r.id = s.append_id)"))
                .as("appends of one that do not name their record")
                .isZero();
    }

    @Test
    void requestsOfABatchKeepTheirOrder() throws Exception {
        AppendRequest full = request(AppendBatch.APPEND_SIZE);
        AppendRequest behind = request(1);
        AppendRequest last = request(2);
        writeShared(full, behind, last).run();
        assertThat(added(full)).first().isEqualTo(1L);
        assertThat(added(behind)).containsExactly(257L);
        assertThat(added(last)).containsExactly(258L, 259L);
    }

    private AppendRequest request(int records) {
        return request(Stream.generate(() -> record("a")).limit(records).toArray(AuditRecord[]::new));
    }

    @Test
    void aStoredRecordIsNotStoredAgain() throws Exception {
        AuditRecord one = record("a");
        AuditRecord two = record("b");
        write(request(one));
        AppendRequest again = request(one);
        AppendRequest partly = request(two, one);
        AppendRequest fresh = request(record("c"));
        write(again, partly, fresh);
        assertThat(outcome(again)).isInstanceOfSatisfying(AppendOutcome.Stored.class, duplicate -> {
            assertThat(duplicate.added()).isZero();
            assertThat(duplicate.records()).extracting(StoredRecord::sequenceId).containsExactly(1L);
        });
        assertThat(outcome(partly)).isInstanceOfSatisfying(AppendOutcome.Stored.class, stored -> {
            assertThat(stored.added()).isEqualTo(1);
            assertThat(stored.records()).extracting(StoredRecord::sequenceId).containsExactly(3L, 1L);
        });
        assertThat(added(fresh)).containsExactly(2L);
    }

    @Test
    void anIdThatIsTakenRejectsItsOwnRequestAlone() throws Exception {
        AuditRecord one = record("a");
        write(request(one));
        AppendRequest taken = request(record("new"), record(one.id(), "other", null));
        AppendRequest fresh = request(record("b"));
        write(taken, fresh);
        assertThat(outcome(taken))
                .isEqualTo(new AppendOutcome.Rejected(
                        Reason.ID_TAKEN, List.of(new Rejection(1, "/id", "This id is taken."))));
        assertThat(added(fresh)).containsExactly(2L);
    }

    @Test
    void theFirstOfTwoRequestsWithOneIdWins() throws Exception {
        UUID id = UUID.randomUUID();
        AppendRequest first = request(record(id, "a", null));
        AppendRequest second = request(record(id, "b", null));
        AppendRequest third = request(record("c"));
        write(first, second, third);
        assertThat(added(first)).containsExactly(1L);
        assertThat(outcome(second)).isInstanceOf(AppendOutcome.Rejected.class);
        assertThat(added(third)).containsExactly(2L);
    }

    @Test
    void aSequenceWithoutANumberForARecordRejectsItsOwnRequestAlone() throws Exception {
        project.request()
                .contentType("application/json")
                .body("""
                        {"kind": "SYNCHRONOUS", "max_value": 3}""")
                .put("/v1/sequences/short")
                .then()
                .statusCode(201);
        AppendRequest first = request(record(UUID.randomUUID(), "a", "short"), record(UUID.randomUUID(), "a", "short"));
        AppendRequest tooMany =
                request(record("a"), record(UUID.randomUUID(), "a", "short"), record(UUID.randomUUID(), "a", "short"));
        AppendRequest unknown = request(record(UUID.randomUUID(), "a", "unknown"));
        AppendRequest last = request(record(UUID.randomUUID(), "a", "short"));
        write(first, tooMany, unknown, last);
        assertThat(added(first)).containsExactly(1L, 2L);
        assertThat(outcome(tooMany)).isInstanceOfSatisfying(AppendOutcome.Rejected.class, rejected -> {
            assertThat(rejected.reason()).isEqualTo(Reason.NO_NUMBER);
            assertThat(rejected.rejections()).singleElement().satisfies(rejection -> {
                assertThat(rejection.index()).isEqualTo(2);
                assertThat(rejection.field()).isEqualTo("/number/sequence");
                assertThat(rejection.why()).contains("exhausted");
            });
        });
        assertThat(outcome(unknown)).isInstanceOf(AppendOutcome.Rejected.class);
        assertThat(added(last)).containsExactly(3L);
    }

    @Test
    void aValueThatTheDatabaseRefusesFailsItsOwnRequestAlone() throws Exception {
        String nul = "\0";
        AppendRequest before = request(record("a"));
        AppendRequest refused = request(record("b"), record("nul" + nul));
        AppendRequest after = request(record("c"));
        write(before, refused, after);
        assertThat(added(before)).containsExactly(1L);
        assertThat(outcome(refused)).isEqualTo(new AppendOutcome.RejectedByDatabase("22021"));
        assertThat(added(after)).containsExactly(2L);
    }

    @Test
    void requestsOfAFailedSeriesAreNotWritten() throws Exception {
        AppendRequest.Series series = new AppendRequest.Series();
        List<AppendRequest> requests = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            requests.add(new AppendRequest(project.id(), token, List.of(record("a")), 100, series));
        }
        series.fail();
        write(requests.toArray(AppendRequest[]::new));
        for (AppendRequest request : requests) {
            assertThat(outcome(request)).isInstanceOf(AppendOutcome.EarlierFailed.class);
        }
        assertThat(log.feed(project.id())).isEmpty();
    }

    private AppendRequest of(Project other, AuditRecord... records) throws SQLException {
        UUID itsToken =
                UUID.fromString(log.text("select id from annals.access_token where project_id = '" + other.id() + "'"));
        return new AppendRequest(other.id(), itsToken, List.of(records), 100);
    }

    private Runnable writeShared(AppendRequest... requests) {
        return store.writeShared(List.of(requests)).await().atMost(Duration.ofSeconds(30));
    }

    @Test
    void requestsOfManyProjectsAreWrittenInOneTransactionEachIntoItsOwnFeed() throws Exception {
        Project second = log.newProject();
        Project third = log.newProject();
        UUID sameId = UUID.randomUUID();
        write(of(third, record("before")));
        AppendRequest one = request(record(sameId, "a", null));
        AppendRequest two = of(second, record("b"), record("c"));
        AppendRequest more = of(second, record("d"));
        AppendRequest three = of(third, record(sameId, "e", null));

        writeShared(one, two, more, three).run();

        assertThat(added(one)).containsExactly(1L);
        assertThat(added(two)).containsExactly(1L, 2L);
        assertThat(added(more)).containsExactly(3L);
        assertThat(added(three)).containsExactly(2L);
        assertThat(log.feed(second.id())).hasSize(3);
        assertThat(log.text("select count(distinct xmin::text) from annals.feed_segment where project_id in ('"
                        + project.id() + "', '" + second.id() + "', '" + third.id() + "') and last_sequence_id > 1"
                        + " or project_id = '" + project.id() + "'"))
                .isEqualTo("1");
        log.checkFeed(second.id());
        log.checkFeed(third.id());
    }

    /** While one project is locked, the others are stored without it, and it is stored in the end. */
    @Test
    void nothingIsStoredInABatchWithALockedProject() throws Exception {
        Project locked = log.newProject();
        AppendRequest free = request(record("a"));
        AppendRequest waits = of(locked, record("b"));
        try (Connection holder = log.connect()) {
            AuditLogFixture.lockFeed(holder, locked.id());
            assertThatThrownBy(() -> writeShared(free, waits)).isInstanceOf(AppendQueue.NotSharedException.class);
            assertThatThrownBy(() -> writeShared(waits)).isInstanceOf(AppendQueue.NotSharedException.class);
            assertThat(free.outcome).isNotDone();
            write(free);
            assertThat(added(free)).containsExactly(1L);
            holder.rollback();
        }
        write(waits);
        assertThat(added(waits)).containsExactly(1L);
    }

    /** A request that one client repeats spoils one shared transaction. After that, its project shares none. */
    @Test
    void ifAnIdIsTakenAllOtherRequestsAreStoredAtOnce() throws Exception {
        Project other = log.newProject();
        AuditRecord one = record("a");
        write(request(one));
        AppendRequest taken = request(record(one.id(), "other", null));
        AppendRequest free = request(record("b"));
        AppendRequest foreign = of(other, record("c"));
        assertThatThrownBy(() -> writeShared(taken, free, foreign))
                .isInstanceOfSatisfying(
                        AppendQueue.NotSharedException.class,
                        apart -> assertThat(apart.left()).containsExactly(taken.key));

        assertThat(added(free)).containsExactly(2L);
        assertThat(added(foreign)).containsExactly(1L);
        assertThat(taken.outcome).isNotDone();
        assertThat(taken.hasSpoiledBatch()).isTrue();
        assertThat(foreign.hasSpoiledBatch()).isFalse();
        write(taken);
        assertThat(outcome(taken)).isInstanceOf(AppendOutcome.Rejected.class);
        log.checkFeed(other.id());
    }

    @Test
    void anIdThatAnAppendHasRejectsItsOwnRequestAlone() throws Exception {
        write(request(record("a"), record("b")));
        UUID append = UUID.fromString(log.text("select append_id from annals.feed_segment where project_id = '"
                + project.id() + "' and last_sequence_id = 2"));
        AppendRequest alone = request(record(append, "c", null));
        write(alone);
        assertThat(outcome(alone))
                .isEqualTo(new AppendOutcome.Rejected(
                        Reason.ID_TAKEN, List.of(new Rejection(0, "/id", "This id is taken."))));
        assertThat(alone.hasSpoiledBatch()).isTrue();
        AppendRequest first = request(record("d"));
        AppendRequest taken = request(record(append, "e", null));
        AppendRequest last = request(record("f"));
        write(first, taken, last);
        assertThat(added(first)).containsExactly(3L);
        assertThat(outcome(taken)).isInstanceOf(AppendOutcome.Rejected.class);
        assertThat(added(last)).containsExactly(4L);
    }

    @Test
    void aFailureThatIsOfOneRequestFailsItAlone() throws Exception {
        log.run("create function annals.fail_in_test() returns trigger language plpgsql as"
                + " $$ begin raise 'not here'; end $$");
        log.run("create trigger fail_in_test before insert on annals.audit_record for each row when (new.project_id = '"
                + project.id() + "' and new.action = 'fails') execute function annals.fail_in_test()");
        try {
            AppendRequest first = request(record("a"));
            AppendRequest fails = request(record("fails"));
            AppendRequest last = request(record("b"));
            write(first, fails, last);
            assertThat(added(first)).containsExactly(1L);
            assertThat(outcome(fails)).isInstanceOf(AppendOutcome.Failed.class);
            assertThat(added(last)).containsExactly(2L);
        } finally {
            log.run("drop function annals.fail_in_test() cascade");
        }
    }

    @Test
    void ifAnOpenTransactionHoldsAnIdOnlyItsRequestFails() throws Exception {
        Project other = log.newProject();
        AuditRecord one = record("a");
        AppendRequest held = request(one);
        AppendRequest free = request(record("b"));
        AppendRequest foreign = of(other, record("c"));
        try (Connection holder = log.connect()) {
            SqlFixture.execute(
                    holder,
                    "insert into annals.audit_record (project_id, id, action) values ('" + project.id() + "', '"
                            + one.id() + "', 'a')");
            writeShared(held, free, foreign).run();
            assertThat(added(free)).containsExactly(1L);
            assertThat(added(foreign)).containsExactly(1L);
            assertThat(outcome(held)).isInstanceOf(AppendOutcome.Unavailable.class);
            assertThat(held.hasSpoiledBatch()).isTrue();
            assertThat(foreign.hasSpoiledBatch()).isFalse();
            holder.rollback();
        }
        AppendRequest again = request(one);
        write(again);
        assertThat(added(again)).containsExactly(2L);
        log.checkFeed(other.id());
    }
}
