package dev.annals.core.sequence;

import static dev.annals.SqlFixture.execute;
import static dev.annals.SqlFixture.numbers;
import static dev.annals.core.sequence.SequenceProcess.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import io.vertx.mutiny.sqlclient.Tuple;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.util.PSQLException;

/** COMMIT_ORDERED and MAX_PLUS_ONE, which number the rows of a table of the caller's. */
@BesideTheService
@Timeout(120)
class TableSequenceTest {

    private static final SqlFixture sql = SqlFixture.ofTheSchemaAlone();

    private String schema;
    private String table;

    @BeforeEach
    void makeTable() throws SQLException {
        schema = "\"user " + UUID.randomUUID() + "\"";
        table = schema + ".\"in voice\"";
        sql.run("create schema " + schema);
        sql.run("create table " + table
                + " (id bigint generated always as identity primary key, customer text, number bigint)");
        sql.run("grant usage on schema " + schema + " to annals_writer, annals_service");
        sql.run("grant select, insert, update, delete on " + table + " to annals_writer, annals_service");
    }

    @AfterEach
    void dropTable() throws SQLException {
        sql.run("drop schema " + schema + " cascade");
    }

    @Test
    void theTextbookVersionOfMaxPlusOneLosesToARaceThatTheLockWins() throws Exception {
        try (Connection first = sql.connectAsWriter();
                Connection second = sql.connectAsWriter()) {
            String textbook = "insert into " + table + " (number) select coalesce(max(number), 0) + 1 from " + table
                    + " returning number";
            assertThat(numbers(first, textbook)).containsExactly(1L);
            assertThat(numbers(second, textbook)).as("the duplicate").containsExactly(1L);
            first.rollback();
            second.rollback();
        }
        try (SequenceProcess a = new SequenceProcess(sql.database());
                SequenceProcess b = new SequenceProcess(sql.database());
                SequenceProcess c = new SequenceProcess(sql.database())) {
            MaxPlusOneSequence sequence = new MaxPlusOneSequence(table, "number");
            List<Callable<Void>> writers = new ArrayList<>();
            for (int i = 0; i < 9; i++) {
                SequenceProcess process = List.of(a, b, c).get(i % 3);
                writers.add(() -> insertNumbered(process, sequence));
            }
            runAll(writers);
        }
        assertThat(sql.numbers("select number from " + table + " order by number"))
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(1, 9 * 20).boxed().toList());
    }

    /** 25 transactions, of which every fifth rolls back. */
    private Void insertNumbered(SequenceProcess process, MaxPlusOneSequence sequence) {
        for (int i = 0; i < 25; i++) {
            boolean fails = i % 5 == 0;
            process.pool
                    .withTransaction(transaction -> sequence.in(transaction)
                            .next()
                            .chain(value -> transaction
                                    .preparedQuery("insert into " + table + " (number) values ($1)")
                                    .execute(Tuple.of(value)))
                            .invoke(() -> {
                                if (fails) {
                                    throw new IllegalStateException("rolled back");
                                }
                            }))
                    .onFailure(IllegalStateException.class)
                    .recoverWithNull()
                    .await()
                    .atMost(LONG);
        }
        return null;
    }

    @Test
    void maxPlusOneRefusesASnapshotThatIsOlderThanItsLock() throws SQLException {
        try (Connection writer = sql.connectAsWriter()) {
            execute(writer, "set transaction isolation level repeatable read");
            assertThatThrownBy(() -> numbers(writer, "select annals.max_plus_one('" + table + "', 'number')"))
                    .hasMessageContaining("READ COMMITTED");
        }
    }

    @Test
    void numbersFollowTheOrderOfCommitsAndAnOpenTransactionDelaysNobody() throws SQLException {
        attach(null);
        try (Connection first = sql.connectAsWriter();
                Connection second = sql.connectAsWriter()) {
            execute(second, "set lock_timeout = '1s'");
            insert(first, "inserted first");
            insert(second, "inserted second");
            second.commit();
            first.commit();
        }
        assertThat(sql.texts("select customer from " + table + " order by number"))
                .containsExactly("inserted second", "inserted first");
        assertGapless();
    }

    @Test
    void whatIsRolledBackOrDeletedAgainUsesNoNumber() throws SQLException {
        attach(null);
        try (Connection writer = sql.connectAsWriter()) {
            insert(writer, "rolled back");
            writer.rollback();
            insert(writer, "one");
            Savepoint savepoint = writer.setSavepoint();
            insert(writer, "to the savepoint");
            insert(writer, "to the savepoint");
            writer.rollback(savepoint);
            insert(writer, "two");
            insert(writer, "deleted");
            execute(writer, "delete from " + table + " where customer = 'deleted'");
            writer.commit();
            insert(writer, "deleted");
            execute(writer, "delete from " + table + " where customer = 'deleted'");
            writer.commit();
            insert(writer, "three");
            writer.commit();
        }
        assertThat(sql.texts("select customer from " + table + " order by number"))
                .containsExactly("one", "two", "three");
        assertGapless();
    }

    @Test
    void constraintsThatAreSetImmediateKeepTheNumbersRight() throws SQLException {
        attach("customer");
        try (Connection writer = sql.connectAsWriter()) {
            insert(writer, "a");
            insert(writer, "b");
            insert(writer, "a");
            execute(writer, "set constraints all immediate");
            insert(writer, "b");
            insert(writer, "a");
            execute(writer, "set constraints all deferred");
            insert(writer, "a");
            insert(writer, "b");
            writer.commit();
        }
        assertGapless();
    }

    @Test
    void aWriterCannotChooseItsNumberAndNeedsNoRightOnTheColumn() throws SQLException {
        attach(null);
        sql.run("revoke insert, update on " + table + " from annals_writer");
        sql.run("grant insert (customer) on " + table + " to annals_writer");
        try (Connection writer = sql.connectAsWriter()) {
            insert(writer, "without the right");
            writer.commit();
        }
        sql.run("grant insert (number) on " + table + " to annals_writer");
        try (Connection writer = sql.connectAsWriter()) {
            execute(writer, "insert into " + table + " (customer, number) values ('x', 77)");
            assertThatThrownBy(writer::commit)
                    .isInstanceOf(PSQLException.class)
                    .hasMessageContaining("came with 77 in number")
                    .hasMessageContaining("Leave the column out.");
        }
        assertThat(sql.numbers("select number from " + table)).containsExactly(1L);
    }

    @Test
    void aWriterCannotPutTheNumberingOnATableOfItsOwn() throws SQLException {
        attach(null);
        sql.run("insert into " + table + " (customer) values ('a')");
        try (Connection writer = sql.connectAsWriter()) {
            execute(writer, "create temporary table bait (id bigint, customer text, number bigint)");
            String counter = table.replace("voice\"", "voice_commit_order\"");
            assertThatThrownBy(() -> execute(
                            writer,
                            "create trigger hijack before insert on bait for each row execute function " + counter
                                    + "()"))
                    .isInstanceOf(PSQLException.class)
                    .hasMessageContaining("permission denied for function");
        }
        assertGapless();
    }

    @Test
    void aTableThatHasNumbersGoesOnFromThemAndOneWithUnnumberedRowsIsRefused() throws SQLException {
        sql.run("insert into " + table + " (customer, number) values ('a', 1), ('a', 2), ('b', 1)");
        attach("customer");
        sql.run("insert into " + table + " (customer) values ('a'), ('b'), ('c'), ('a')");
        assertThat(sql.texts("select customer || number from " + table + " order by customer, number"))
                .containsExactly("a1", "a2", "a3", "a4", "b1", "b2", "c1");
        String other = schema + ".other";
        sql.run("create table " + other + " (id int primary key, number bigint)");
        sql.run("insert into " + other + " values (1, null)");
        assertThatThrownBy(() -> sql.run("select annals.attach_commit_order('" + other + "', 'number')"))
                .isInstanceOf(PSQLException.class)
                .hasMessageContaining("has rows without a number");
        assertThatThrownBy(() -> sql.run("select annals.attach_commit_order('" + other + "', 'id')"))
                .hasMessageContaining("bigint");
    }

    @Test
    void tenThousandRowsOfOneStatementAreNumberedInTheirOrder() throws SQLException {
        attach("customer");
        sql.run("insert into " + table + " (customer) select 'c' || i / 1000 from generate_series(0, 9999) i");
        assertGapless();
        assertThat(sql.numbers("select count(*) from " + table + " where number <> (id - 1) % 1000 + 1"))
                .containsExactly(0L);
    }

    @Test
    void writersOverSeveralGroupsInAnyOrderNeitherDeadlockNorLeaveAGap() throws Exception {
        attach("customer");
        List<Callable<Void>> writers = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            writers.add(this::writeAtRandom);
        }
        runAll(writers);
        assertGapless();
    }

    private Void writeAtRandom() throws SQLException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        try (Connection writer = sql.connectAsWriter()) {
            for (int i = 0; i < 60; i++) {
                for (int rows = random.nextInt(1, 5); rows > 0; rows--) {
                    insert(writer, "group " + random.nextInt(4));
                }
                if (random.nextInt(5) == 0) {
                    writer.rollback();
                } else {
                    writer.commit();
                }
            }
        }
        return null;
    }

    @Test
    void aSerializableWriterGetsTheRightNumberOrAnError40001() throws SQLException {
        attach(null);
        try (Connection slow = sql.connectAsWriter();
                Connection fast = sql.connectAsWriter()) {
            execute(slow, "set transaction isolation level repeatable read");
            insert(slow, "slow");
            insert(fast, "fast");
            fast.commit();
            insert(fast, "fast");
            fast.commit();
            assertThatThrownBy(slow::commit)
                    .isInstanceOfSatisfying(
                            PSQLException.class,
                            e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            slow.rollback();
        }
        assertGapless();
    }

    @Test
    void writersOfTwoTablesLeaveNoGapWhenTheyRepeatWhatADeadlockEnded() throws Exception {
        attach(null);
        String other = schema + ".other";
        sql.run("create table " + other + " (id bigint generated always as identity primary key, number bigint)");
        sql.run("grant insert on " + other + " to annals_writer");
        sql.run("select annals.attach_commit_order('" + other + "', 'number')");
        // Two and no more: the server takes a second to see a deadlock, and many writers do little else than deadlock.
        runAll(List.of(() -> writeToBoth(other, true), () -> writeToBoth(other, false)));
        assertGapless();
        assertThat(sql.numbers("select number from " + other + " order by number"))
                .containsExactlyElementsOf(LongStream.rangeClosed(1, 20).boxed().toList());
    }

    private Void writeToBoth(String other, boolean otherFirst) throws SQLException {
        String intoOther = "insert into " + other + " default values";
        String intoTable = "insert into " + table + " (customer) values ('x')";
        try (Connection writer = sql.connectAsWriter()) {
            for (int committed = 0; committed < 10; ) {
                try {
                    execute(writer, otherFirst ? intoOther : intoTable);
                    execute(writer, otherFirst ? intoTable : intoOther);
                    writer.commit();
                    committed++;
                } catch (PSQLException e) {
                    assertThat(e.getSQLState()).as("deadlock_detected").isEqualTo("40P01");
                    writer.rollback();
                }
            }
        }
        return null;
    }

    @Test
    void aDetachedTableKeepsItsNumbersAndGoesOnFromThemWhenAttachedAgain() throws SQLException {
        attach("customer");
        sql.run("insert into " + table + " (customer) values ('a'), ('b'), ('a')");
        detach("number");
        assertThat(sql.numbers("select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
                        + " where quote_ident(n.nspname) = '" + schema + "' and relname like '%commit_order%'"))
                .containsExactly(0L);
        sql.run("insert into " + table + " (customer, number) values ('a', 7)");
        sql.run("insert into " + table + " (customer) values ('not numbered')");
        assertThat(sql.texts("select customer || number from " + table + " order by id"))
                .containsExactly("a1", "b1", "a2", "a7", null);
        sql.run("delete from " + table + " where number is null");
        attach("customer");
        sql.run("insert into " + table + " (customer) values ('a')");
        assertThat(sql.numbers("select max(number) from " + table)).containsExactly(8L);
    }

    @Test
    void onlyTheOwnerDetachesAndOnlyTheColumnThatIsNumbered() throws SQLException {
        assertThatThrownBy(() -> detach("number")).hasMessageContaining("is not numbered in commit order");
        attach(null);
        assertThatThrownBy(() -> detach("id")).hasMessageContaining("is not numbered in commit order");
        try (Connection writer = sql.connectAsWriter()) {
            assertThatThrownBy(() -> execute(writer, "select annals.detach_commit_order('" + table + "', 'number')"))
                    .hasMessageContaining("must be owner");
        }
        sql.run("insert into " + table + " (customer) values ('still numbered')");
        assertGapless();
    }

    @Test
    void detachingWaitsForTransactionsThatHaveWrittenAndTheirRowsAreNumbered() throws Exception {
        attach(null);
        try (Connection writer = sql.connectAsWriter()) {
            insert(writer, "open");
            CompletableFuture<Void> detached = CompletableFuture.runAsync(() -> {
                try {
                    detach("number");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            Await.until("detaching waits for the lock", () -> {
                assertThat(detached).isNotDone();
                return sql.number("""
                        select count(*) from pg_locks join pg_database d on d.oid = database and datname = current_database()
                        where mode = 'AccessExclusiveLock' and not granted
                        """) > 0;
            });
            assertThat(detached).isNotDone();
            writer.commit();
            detached.get(60, TimeUnit.SECONDS);
        }
        assertThat(sql.numbers("select number from " + table)).containsExactly(1L);
    }

    @Test
    void aKeyThatIsDeletedAndInsertedAgainInOneTransactionGetsOneNumber() throws SQLException {
        attach("customer");
        String insert = "insert into " + table + " (id, customer) overriding system value values ";
        try (Connection writer = sql.connectAsWriter()) {
            execute(writer, insert + "(1, 'a')");
            execute(writer, "delete from " + table);
            execute(writer, insert + "(1, 'a'), (2, 'a')");
            execute(writer, "delete from " + table + " where id = 2");
            execute(writer, insert + "(2, 'b'), (3, 'b')");
            writer.commit();
            execute(writer, insert + "(4, 'a'), (5, 'b')");
            writer.commit();
        }
        assertGapless();
    }

    @Test
    void aRowThatChangesItsGroupBeforeTheCommitIsNumberedInItsNewOne() throws SQLException {
        attach("customer");
        sql.run("insert into " + table + " (customer) values ('a'), ('b')");
        try (Connection writer = sql.connectAsWriter()) {
            insert(writer, "a");
            insert(writer, "a");
            insert(writer, "new");
            execute(writer, "update " + table + " set customer = 'b' where id = 3");
            execute(writer, "update " + table + " set customer = 'newer' where id = 5");
            writer.commit();
        }
        assertGapless();
    }

    @Test
    void groupsOfAnyTextAndAKeyOfSeveralColumnsAreNumbered() throws SQLException {
        String odd = schema + ".\"o'dd\\ \"\"t\"";
        sql.run("create table " + odd + " (\"this\" date, \"a \"\"key\" text, head bigint, customer text,"
                + " primary key (\"this\", \"a \"\"key\"))");
        sql.run("grant insert (\"this\", \"a \"\"key\", customer) on " + odd + " to annals_writer");
        sql.run("select annals.attach_commit_order('" + odd.replace("'", "''") + "', 'head', 'customer')");
        List<String> groups =
                List.of("null", "''", "'{\"g\": \"'", "','", "'='", "'a\"b\\'", "'%s %1$s'", "E'\\n\\t'", "'ä€'");
        try (Connection writer = sql.connectAsWriter()) {
            for (int transactions = 0; transactions < 3; transactions++) {
                for (String group : groups) {
                    execute(
                            writer,
                            "insert into " + odd + " (\"this\", \"a \"\"key\", customer)"
                                    + " values ('2026-11-22', gen_random_uuid() || '\"},{', " + group + ")");
                }
                writer.commit();
            }
        }
        assertThat(sql.numbers("select min(n) from (select count(distinct head) n from " + odd
                        + " where head <= 6 group by coalesce(customer, '')) g"))
                .containsExactly(3L);
        assertThat(sql.numbers("select max(head) from " + odd)).containsExactly(6L);
    }

    /** Else a newer library of the server would change the order of the counters, and a group would begin again at 1. */
    @Test
    void theOrderOfGroupsDependsOnNoLibraryWhateverTheCollationOfTheirColumn() throws SQLException {
        sql.run("alter table " + table + " alter column customer type text collate \"en-x-icu\"");
        attach("customer");
        try (Connection writer = sql.connectAsWriter()) {
            for (String customer : List.of("a", "B", "ä", "b", "a", "Ä")) {
                insert(writer, customer);
            }
            writer.commit();
        }
        assertGapless();
        assertThat(sql.texts("select c.relname from pg_index as i join pg_class as c on c.oid = i.indexrelid"
                        + " join pg_collation as l on l.oid = any (i.indcollation::oid[])"
                        + " where c.relnamespace = (select relnamespace from pg_class where oid = '" + table
                        + "'::regclass) and l.collname <> 'C'"))
                .isEmpty();
    }

    /** A transaction cannot remove its own versions of a row: to look for the newest one is to walk over all of them. */
    @Test
    void aTransactionDoesNotLookForItsCounterAgainWithEveryRow() throws SQLException {
        attach("customer");
        try (Connection owner = sql.connect()) {
            execute(owner, "insert into " + table + " (customer) select 'c' || i % 2 from generate_series(1, 2000) i");
            execute(owner, "set constraints all immediate");
            assertThat(numbers(
                            owner,
                            "select coalesce(idx_scan, 0) + seq_scan from pg_stat_xact_user_tables"
                                    + " where relname = 'in voice_commit_order'"
                                    + " and quote_ident(schemaname) = '" + schema + "'"))
                    .hasSize(1)
                    .allMatch(scans -> scans < 20);
            owner.commit();
        }
        assertGapless();
    }

    @Test
    void theCountersAreTheOwnersAloneWhateverTheDefaultPrivileges() throws SQLException {
        sql.run("alter default privileges in schema " + schema + " grant all on tables to public, annals_writer");
        sql.run("alter default privileges in schema " + schema + " grant execute on functions to annals_writer");
        attach("customer");
        assertThat(sql.numbers("select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
                        + " where quote_ident(n.nspname) = '" + schema
                        + "' and relname like '%\\_commit\\_%' and relkind = 'r'"
                        + " and has_table_privilege('annals_writer', c.oid,"
                        + " 'select, insert, update, delete, truncate, references, trigger')"))
                .containsExactly(0L);
        assertThat(sql.numbers("select count(*) from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
                        + " where quote_ident(n.nspname) = '" + schema + "'"
                        + " and has_function_privilege('annals_writer', p.oid, 'execute')"))
                .containsExactly(0L);
    }

    private void detach(String column) throws SQLException {
        sql.run("select annals.detach_commit_order('" + table + "', '" + column + "')");
    }

    private void attach(String group) throws SQLException {
        sql.run("select annals.attach_commit_order('" + table + "', 'number'"
                + (group == null ? ")" : ", '" + group + "')"));
    }

    /** Numbers 1 … n once each, in every group that the table is attached by. */
    private void assertGapless() throws SQLException {
        assertThat(sql.numbers("select number from " + table)).isNotEmpty();
        boolean grouped =
                sql.numbers("select count(*) from " + schema + ".\"in voice_commit_order\" where group_key <> ''")
                                .get(0)
                        > 0;
        assertThat(sql.numbers(
                        "select count(*) from (select count(*) n, count(distinct number) d, min(number) low, max(number) high from "
                                + table + " group by " + (grouped ? "customer" : "()")
                                + ") g where not (n = d and low = 1 and high = n)"))
                .containsExactly(0L);
        assertThat(sql.numbers("select count(*) from " + table + " where number is null"))
                .containsExactly(0L);
    }

    private void insert(Connection connection, String customer) throws SQLException {
        execute(connection, "insert into " + table + " (customer) values ('" + customer + "')");
    }

    private static void runAll(List<Callable<Void>> tasks) throws InterruptedException, ExecutionException {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        try {
            for (Future<Void> task : threads.invokeAll(tasks)) {
                task.get();
            }
        } finally {
            threads.shutdown();
        }
    }
}
