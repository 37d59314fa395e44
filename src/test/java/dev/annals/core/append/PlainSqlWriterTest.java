package dev.annals.core.append;

import static dev.annals.SqlFixture.execute;
import static dev.annals.SqlFixture.insert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/** ORDER, ANY WRITER, LOW CONTENTION and IMMUTABLE, for writers of plain SQL. */
@BesideTheService
class PlainSqlWriterTest {

    /** The common pool may have a single thread, and these tasks wait for each other. */
    private static final Executor OWN_THREADS = task -> new Thread(task).start();

    private static final SqlFixture log = SqlFixture.ofTheSchemaAlone();

    private UUID a;
    private UUID b;

    @BeforeEach
    void makeProjects() throws SQLException {
        a = log.insertProject();
        b = log.insertProject();
    }

    @AfterEach
    void checkFeeds() throws SQLException {
        log.checkFeed(a);
        log.checkFeed(b);
    }

    @Test
    void theShortestInsertIsEnough() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            execute(
                    writer,
                    "insert into annals.audit_record (project_id, action, message) values ('" + a + "', 'x', 'y')");
            writer.commit();
        }
        assertThat(log.checkFeed(a)).isEqualTo(1);
    }

    @Test
    void aTableMadeLikeThatOfTheRecordsTakesWhatAWriterGives() throws SQLException {
        log.run(
                "create temporary table staged (like annals.audit_record including defaults) on commit drop",
                "insert into staged (project_id, action) select '" + a + "', 'x' from generate_series(1, 3)",
                "insert into annals.audit_record (project_id, id, action, message) select project_id, id, action, message"
                        + " from staged");
        assertThat(log.checkFeed(a)).isEqualTo(3);
    }

    /** The filters of the service then find it by any form of the address. */
    @Test
    void anIpv4AddressThatIsMappedToIpv6IsStoredAsTheIpv4Address() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            execute(writer, """
                    insert into annals.audit_record (project_id, action, ip_address)
                    select '%s', 'x', address::inet from unnest(array[
                      '::ffff:10.2.3.4', '::ffff:10.2.3.4/96', '::ffff:a02:304/64', '10.2.3.4/8', '::10.2.3.4', '2001:db8::1', null])
                      as address
                    """.formatted(a));
            writer.commit();
        }
        assertThat(log.texts(
                        "select host(ip_address) from annals.feed where project_id = '" + a + "' order by sequence_id"))
                .containsExactly("10.2.3.4", "10.2.3.4", "10.2.3.4", "10.2.3.4", "::10.2.3.4", "2001:db8::1", null);
    }

    @Test
    void sequenceIdsFollowTheOrderOfCommitsAndNotThatOfInserts() throws SQLException {
        try (Connection first = log.connectAsWriter();
                Connection second = log.connectAsWriter()) {
            UUID insertedFirst = insert(first, a, "inserted first");
            UUID insertedSecond = insert(second, a, "inserted second");
            second.commit();
            assertThat(log.feed(a)).containsExactly(insertedSecond);
            first.commit();
            assertThat(log.feed(a)).containsExactly(insertedSecond, insertedFirst);
        }
    }

    @Test
    void aTransactionThatStaysOpenAfterItsInsertDelaysNoOther() throws SQLException {
        try (Connection open = log.connectAsWriter();
                Connection other = log.connectAsWriter()) {
            insert(open, a, "stays open");
            execute(other, "set lock_timeout = '1s'");
            UUID committed = insert(other, a, "does not wait");
            other.commit();
            assertThat(log.feed(a)).containsExactly(committed);
            open.rollback();
        }
    }

    /** A pooler that drops the service's role makes the trigger for other writers run for the service's statement. */
    @Test
    void recordsThatWerePlacedByTheirOwnAppendAreNotGatheredIntoAnotherOne() throws SQLException {
        UUID append = UUID.randomUUID();
        UUID one = UUID.randomUUID();
        UUID two = UUID.randomUUID();
        try (Connection owner = log.connect()) {
            owner.setAutoCommit(false);
            execute(owner, """
                    with record as (
                      insert into annals.audit_record (project_id, id, placed_with, action)
                      values ('%1$s', '%3$s', '%2$s', 'a'), ('%1$s', '%4$s', '%2$s', 'b'))
                    insert into annals.append (project_id, id, record_ids)
                    values ('%1$s', '%2$s', array['%3$s', '%4$s']::uuid[])
                    """.formatted(a, append, one, two));
            assertThatThrownBy(owner::commit).hasMessageContaining("annals_service");
        }
        assertThat(log.feed(a)).isEmpty();
    }

    @Test
    void aRollbackUsesNoNumber() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            UUID before = insert(writer, a, "before");
            writer.commit();
            insert(writer, a, "rolled back");
            writer.rollback();
            UUID after = insert(writer, a, "after");
            writer.commit();
            assertThat(log.feed(a)).containsExactly(before, after);
        }
    }

    @Test
    void whatIsRolledBackToASavepointUsesNoNumber() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            UUID before = insert(writer, a, "before");
            Savepoint savepoint = writer.setSavepoint();
            insert(writer, a, "rolled back");
            insert(writer, b, "rolled back");
            writer.rollback(savepoint);
            UUID after = insert(writer, a, "after");
            writer.commit();
            assertThat(log.feed(a)).containsExactly(before, after);
            assertThat(log.feed(b)).isEmpty();
        }
    }

    @Test
    void theRowsOfOneStatementKeepTheirOrder() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            execute(
                    writer,
                    "insert into annals.audit_record (project_id, action) select case when i % 3 = 0 then '" + a
                            + "'::uuid else '" + b + "' end, i::text from generate_series(1, 3000) i");
            writer.commit();
        }
        assertThat(actions(a)).isEqualTo(numbers(3000, i -> i % 3 == 0));
        assertThat(actions(b)).isEqualTo(numbers(3000, i -> i % 3 != 0));
    }

    @Test
    void copyTakesAsManyRowsAsItIsGiven() throws Exception {
        StringBuilder rows = new StringBuilder();
        for (int i = 1; i <= 10_000; i++) {
            rows.append(a).append('\t').append(i).append('\n');
        }
        try (Connection writer = log.connectAsWriter()) {
            writer.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn(
                            "copy annals.audit_record (project_id, action) from stdin",
                            new StringReader(rows.toString()));
            writer.commit();
        }
        assertThat(actions(a)).isEqualTo(numbers(10_000, i -> true));
    }

    @Test
    void onConflictDoNothingUsesNumbersForNewRowsOnly() throws SQLException {
        try (Connection owner = log.connect()) {
            UUID id = insert(owner, a, "first");
            owner.commit();
            execute(
                    owner,
                    "insert into annals.audit_record (project_id, id, action) values ('" + a + "', '" + id
                            + "', 'again'), ('" + a + "', gen_random_uuid(), 'second') on conflict do nothing");
            execute(
                    owner,
                    "insert into annals.audit_record (project_id, id, action) values ('" + a + "', '" + id
                            + "', 'again') on conflict do nothing");
            owner.commit();
        }
        assertThat(actions(a)).containsExactly("first", "second");
    }

    @Test
    void aCommitThatWaitsForAnotherComesBehindIt() throws Exception {
        try (Connection early = log.connect();
                Connection late = log.connectAsWriter()) {
            UUID first = insert(early, a, "holds the lock");
            SqlFixture.lockFeed(early, a);
            UUID second = insert(late, a, "must wait");
            CompletableFuture<Void> commit = commitInBackground(late);
            awaitLockWaiter();
            early.commit();
            commit.get(10, TimeUnit.SECONDS);
            assertThat(log.feed(a)).containsExactly(first, second);
        }
    }

    @Test
    void transactionsThatWriteTheSameProjectsInOppositeOrderBothCommit() throws Exception {
        CyclicBarrier together = new CyclicBarrier(2);
        CompletableFuture<Void> there = writeBoth(together, a, b);
        CompletableFuture<Void> back = writeBoth(together, b, a);
        there.get(60, TimeUnit.SECONDS);
        back.get(60, TimeUnit.SECONDS);
        assertThat(log.checkFeed(a)).isEqualTo(200);
        assertThat(log.checkFeed(b)).isEqualTo(200);
    }

    private CompletableFuture<Void> writeBoth(CyclicBarrier together, UUID first, UUID second) {
        return CompletableFuture.runAsync(
                () -> {
                    try (Connection writer = log.connectAsWriter()) {
                        for (int i = 0; i < 100; i++) {
                            insert(writer, first, "first");
                            insert(writer, second, "second");
                            together.await(30, TimeUnit.SECONDS);
                            writer.commit();
                        }
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                },
                OWN_THREADS);
    }

    @ParameterizedTest
    @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
    void aSnapshotThatTheFeedHasMovedOnFromGetsASerializationFailureAndNeverAWrongNumber(int isolation)
            throws SQLException {
        try (Connection old = log.connectAsWriter();
                Connection other = log.connectAsWriter()) {
            old.setTransactionIsolation(isolation);
            insert(old, a, "on an old snapshot");
            // Two records in one segment: the numbers would overlap without being equal.
            execute(
                    other,
                    "insert into annals.audit_record (project_id, action) values ('" + a + "', 'new'), ('" + a
                            + "', 'newer')");
            other.commit();
            assertThatThrownBy(old::commit)
                    .satisfies(e -> assertThat(((SQLException) e).getSQLState()).isEqualTo("40001"));
            old.rollback();
            insert(old, a, "once more");
            old.commit();
        }
        assertThat(actions(a)).containsExactly("new", "newer", "once more");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "select * from annals.audit_record",
                "update annals.audit_record set action = 'x'",
                "delete from annals.audit_record",
                "truncate annals.audit_record",
                "select * from annals.feed_segment",
                "select * from annals.append",
                "select * from annals.feed",
                "select * from annals.project",
                "select * from annals.access_token",
                "insert into annals.feed_segment values (gen_random_uuid(), gen_random_uuid(), 1, 1)",
                "insert into annals.append values (gen_random_uuid(), gen_random_uuid(), null, array[gen_random_uuid()])",
                "alter table annals.audit_record disable trigger all",
                "set session_replication_role = replica"
            })
    void theWriterRoleCanDoNothingButInsert(String forbidden) throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            assertThatThrownBy(() -> execute(writer, forbidden))
                    .satisfies(e -> assertThat(((SQLException) e).getSQLState()).isEqualTo("42501"));
            writer.rollback();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "update annals.%s set project_id = project_id",
                "delete from annals.%s",
                "truncate annals.%s",
                "delete from annals.%s where false"
            })
    void theDatabaseRefusesToChangeRecords(String change) throws SQLException {
        try (Connection owner = log.connect()) {
            execute(
                    owner,
                    "insert into annals.audit_record (project_id, action) values ('" + a + "', 'x'), ('" + a
                            + "', 'y')");
            owner.commit();
            for (String table : List.of("audit_record", "append", "feed_segment")) {
                assertThatThrownBy(() -> execute(owner, change.formatted(table)))
                        .hasMessageContaining("append-only")
                        .satisfies(e ->
                                assertThat(((SQLException) e).getSQLState()).isEqualTo("23001"));
                owner.rollback();
            }
        }
    }

    @Test
    void aRowCannotBeDeletedAgainInItsOwnTransaction() throws SQLException {
        try (Connection owner = log.connect()) {
            UUID id = insert(owner, a, "x");
            assertThatThrownBy(() -> execute(owner, "delete from annals.audit_record where id = '" + id + "'"))
                    .isInstanceOf(PSQLException.class);
            owner.rollback();
        }
        assertThat(log.feed(a)).isEmpty();
    }

    @Test
    void anUpsertIsRefused() throws SQLException {
        try (Connection owner = log.connect()) {
            UUID id = insert(owner, a, "x");
            owner.commit();
            assertThatThrownBy(() -> execute(
                            owner,
                            "insert into annals.audit_record (project_id, id, action) values ('" + a + "', '" + id
                                    + "', 'y') on conflict (project_id, id) do update set action = excluded.action"))
                    .hasMessageContaining("append-only");
            owner.rollback();
        }
    }

    @Test
    void anUnknownProjectIsRefusedAtCommit() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            insert(writer, UUID.randomUUID(), "x");
            assertThatThrownBy(writer::commit)
                    .hasMessageContaining("does not exist")
                    .satisfies(e -> assertThat(((SQLException) e).getSQLState()).isEqualTo("23503"));
        }
    }

    @Test
    void anAppendThatTheOwnerNamesIsPlacedLikeAnyOther() throws SQLException {
        UUID id = UUID.randomUUID();
        try (Connection writer = log.connect()) {
            execute(
                    writer,
                    "insert into annals.audit_record (project_id, id, placed_with, action) values ('" + a + "', '" + id
                            + "', '" + id + "', 'alone'), ('" + a + "', gen_random_uuid(), '" + id
                            + "', 'claims the same append')");
            writer.commit();
        }
        assertThat(log.checkFeed(a)).isEqualTo(2);
    }

    @Test
    void manySmallStatementsInOneTransactionAreAllPlaced() throws SQLException {
        List<UUID> ids = new ArrayList<>();
        try (Connection writer = log.connectAsWriter()) {
            for (int i = 0; i < 1_000; i++) {
                ids.add(insert(writer, a, "x"));
            }
            writer.commit();
        }
        assertThat(log.feed(a)).isEqualTo(ids);
    }

    private static CompletableFuture<Void> commitInBackground(Connection connection) {
        return CompletableFuture.runAsync(
                () -> {
                    try {
                        connection.commit();
                    } catch (SQLException e) {
                        throw new AssertionError(e);
                    }
                },
                OWN_THREADS);
    }

    private void awaitLockWaiter() throws Exception {
        Await.until(
                "the second commit waits for the first",
                () -> log.numbers(SqlFixture.WAITING_COMMITS).get(0) > 0);
    }

    private List<String> actions(UUID projectId) throws SQLException {
        return log.texts("select action from annals.feed where project_id = '" + projectId + "' order by sequence_id");
    }

    private static List<String> numbers(int upTo, java.util.function.IntPredicate which) {
        return java.util.stream.IntStream.rangeClosed(1, upTo)
                .filter(which)
                .mapToObj(Integer::toString)
                .toList();
    }
}
