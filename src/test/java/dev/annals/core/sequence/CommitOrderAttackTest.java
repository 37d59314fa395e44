package dev.annals.core.sequence;

import static dev.annals.SqlFixture.execute;
import static dev.annals.SqlFixture.texts;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.util.PSQLException;

/** A writer that may insert one column, and set whatever it likes, bends no number and locks nothing of others. */
@BesideTheService
@Timeout(120)
class CommitOrderAttackTest {

    private static final List<String> GROUPS = List.of("a", "b", "c");

    private static final SqlFixture sql = SqlFixture.ofTheSchemaAlone();

    private String schema;
    private String table;
    /** The setting that the table's trigger names. */
    private String setting;
    /** All that could carry a state of the numbering. */
    private List<String> settings;

    @BeforeEach
    void makeTable() throws SQLException {
        schema = "attacked_" + UUID.randomUUID().toString().replace("-", "");
        table = schema + ".invoice";
        sql.run("create schema " + schema);
        sql.run("create table " + table
                + " (id bigint generated always as identity primary key, customer text, number bigint)");
        sql.run("grant usage on schema " + schema + " to annals_writer");
        sql.run("grant insert (customer), delete, select on " + table + " to annals_writer");
        sql.run("select annals.attach_commit_order('" + table + "', 'number', 'customer')");
        sql.run("insert into " + table + " (customer) values ('a'), ('b'), ('c')");
        setting = sql.texts("select substring(pg_get_triggerdef(oid) from 'annals[.]commit_[0-9a-f]+') from pg_trigger"
                        + " where tgname = 'commit_order' and tgrelid = '" + table + "'::regclass")
                .get(0);
        settings = new ArrayList<>(List.of(setting));
        settings.addAll(sql.texts(
                "select distinct 'annals.commit_at_' || (hashtext(g) & 255) from unnest(array['a', 'b', 'c']) g"));
    }

    @AfterEach
    void dropTable() throws SQLException {
        sql.run("drop schema " + schema + " cascade");
    }

    @Test
    void aPlaceThatHoldsAnotherCounterAnOldOneOrNoneIsNotBelieved() throws SQLException {
        try (Connection attacker = sql.connectAsWriter()) {
            for (String place : List.of("(0,1)", "(0,2)", "(0,3)", "(0,4)", "(0,5)", "(4000000000,7)", "(0,0)")) {
                insert(attacker, "a");
                insert(attacker, "b");
                insert(attacker, "a");
                for (String name : settings) {
                    set(attacker, name, place);
                }
                try {
                    attacker.commit();
                } catch (PSQLException ofItsOwn) {
                    attacker.rollback();
                }
                assertGapless();
            }
        }
    }

    /** Its deferred trigger fires between those of the table, and puts the settings back to what they were before. */
    @Test
    void aStateThatTheWritersOwnTriggerPutsBackGivesNoNumberTwice() throws SQLException {
        try (Connection attacker = sql.connectAsWriter()) {
            execute(attacker, "create temporary table replay (id int)");
            execute(attacker, """
                    create function pg_temp.replay() returns trigger language plpgsql as $$
                    declare name text;
                    begin
                      foreach name in array tg_argv loop
                        if current_setting('saved.' || split_part(name, '.', 2), true) <> '' then
                          perform set_config(name, current_setting('saved.' || split_part(name, '.', 2)), true);
                        else
                          perform set_config('saved.' || split_part(name, '.', 2), current_setting(name, true), true);
                        end if;
                      end loop;
                      return null;
                    end $$""");
            execute(
                    attacker,
                    "create constraint trigger replay after insert on replay deferrable initially deferred"
                            + " for each row execute function pg_temp.replay('"
                            + String.join("', '", settings) + "')");
            attacker.commit();
            for (int i = 0; i < 5; i++) {
                insert(attacker, "a");
                execute(attacker, "insert into replay values (1)");
            }
            insert(attacker, "a");
            attacker.commit();
        }
        assertGapless();
    }

    @Test
    void aForgedListLocksNoGroupInWhichTheWriterHasNoRow() throws SQLException {
        try (Connection attacker = sql.connectAsWriter();
                Connection victim = sql.connectAsWriter()) {
            insert(attacker, "mine");
            insert(attacker, "mine, too");
            set(attacker, setting, "{\"g\": \"b\", \"k1\": 2},{\"g\": \"c\", \"k1\": 4},");
            execute(attacker, "set constraints all immediate");
            execute(victim, "set lock_timeout = '1s'");
            insert(victim, "b");
            insert(victim, "c");
            victim.commit();
            attacker.commit();
        }
        assertGapless();
    }

    @Test
    void aPublicationOfAllTablesKeepsNoRowFromItsNumber() throws SQLException {
        sql.run("create publication everything for tables in schema " + schema);
        try {
            sql.run("insert into " + table + " (customer) values ('a'), ('b')");
            assertGapless();
        } finally {
            sql.run("drop publication everything");
        }
    }

    @Test
    void noAdvisoryLockIsTakenThatAStrangerCouldHold() throws SQLException {
        try (Connection writer = sql.connectAsWriter()) {
            insert(writer, "a");
            insert(writer, "b");
            execute(writer, "set constraints all immediate");
            assertThat(texts(
                            writer,
                            "select objid::text from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"))
                    .isEmpty();
            writer.commit();
        }
        assertGapless();
    }

    @Test
    void aListThatCannotBeReadFailsTheWritersOwnTransactionAlone() throws SQLException {
        try (Connection attacker = sql.connectAsWriter()) {
            for (String name : settings) {
                for (String malformed :
                        List.of("{", "{}", "{\"g\": 1", "x", "(", "*", "[[[[", "{\"g\": \"a\", \"k1\": \"x\"},")) {
                    try {
                        insert(attacker, "a");
                        set(attacker, name, malformed);
                        insert(attacker, "b");
                        insert(attacker, "a");
                        attacker.commit();
                    } catch (PSQLException ofItsOwn) {
                        attacker.rollback();
                    }
                }
            }
            insert(attacker, "a");
            attacker.commit();
        }
        assertGapless();
    }

    /** Savepoints, constraints set immediate, rows deleted again, settings removed, forged and replayed: in any order. */
    @Test
    void nothingThatAWriterDoesInAnyOrderBendsANumber() throws SQLException {
        for (int seed = 0; seed < 25; seed++) {
            Random random = new Random(seed);
            try (Connection attacker = sql.connectAsWriter()) {
                for (int transactions = 0; transactions < 4; transactions++) {
                    try {
                        attack(attacker, random);
                        if (random.nextInt(4) == 0) {
                            attacker.rollback();
                        } else {
                            attacker.commit();
                        }
                    } catch (PSQLException ofItsOwn) {
                        attacker.rollback();
                    }
                }
            }
            assertGapless();
        }
    }

    private void attack(Connection attacker, Random random) throws SQLException {
        List<Savepoint> savepoints = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            switch (random.nextInt(8)) {
                case 0 -> savepoints.add(attacker.setSavepoint());
                case 1 -> {
                    if (!savepoints.isEmpty()) {
                        int to = random.nextInt(savepoints.size());
                        attacker.rollback(savepoints.get(to));
                        savepoints.subList(to + 1, savepoints.size()).clear();
                    }
                }
                case 2 -> execute(attacker, "set constraints all " + (random.nextBoolean() ? "immediate" : "deferred"));
                case 3 ->
                    execute(
                            attacker,
                            "delete from " + table + " where number is null and customer = '" + pick(random, GROUPS)
                                    + "'");
                case 4 -> {
                    String name = pick(random, settings);
                    List<String> values = new ArrayList<>(List.of("", "(0,1)", "(0,7)", "=a", "3:a", "1", "*"));
                    values.addAll(texts(
                            attacker, "select coalesce(current_setting('" + pick(random, settings) + "', true), '')"));
                    set(attacker, name, pick(random, values));
                }
                default -> insert(attacker, pick(random, GROUPS));
            }
        }
    }

    private static String pick(Random random, List<String> from) {
        return from.get(random.nextInt(from.size()));
    }

    private static void set(Connection connection, String name, String value) throws SQLException {
        execute(connection, "select set_config('" + name + "', '" + value + "', true)");
    }

    /** Numbers 1 … n once each, in every group. */
    private void assertGapless() throws SQLException {
        assertThat(sql.texts("select customer || ': ' || array_agg(number order by number)::text from " + table
                        + " group by customer having not (count(*) = count(distinct number)"
                        + " and min(number) = 1 and max(number) = count(*))"))
                .isEmpty();
    }

    private void insert(Connection connection, String customer) throws SQLException {
        execute(connection, "insert into " + table + " (customer) values ('" + customer + "')");
    }
}
