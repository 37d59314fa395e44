package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Verify;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A database that a service has written, and all that it derives; and copies of it, each with one thing wrong that a superuser has
 * brought about with triggers off. Whatever it is, {@code verify} finds it.
 */
@Slow
@Timeout(300)
class VerifySeesEverythingIT {

    private static final UUID PROJECT = UUID.randomUUID();

    /** The feed of administration has segments with the same ids. */
    private static final String OF_PROJECT = "project_id = '" + PROJECT + "' and ";

    private static final int SEQUENCE_IDS = 1_209;
    /** A record with everything, which stands alone in its append. */
    private static final String WHOLE = "project_id = '" + PROJECT + "' and action = 'whole'";

    private static final String NUMBERED = "project_id = '" + PROJECT + "' and number_value = ";

    private static DatabaseUrl whole;

    @BeforeAll
    static void writeADatabase() throws Exception {
        whole = TestDatabase.createDatabase();
        try (ServiceProcess service = ServiceProcess.start(
                        Map.of("ANNALS_DATABASE_URL", whole.withPassword(), "ANNALS_LOG_INTERVAL", "10ms"))
                .awaitListening()) {
            SqlFixture sql = SqlFixture.on(whole);
            sql.run("insert into annals.project (id, name) values ('" + PROJECT + "', 'whole')");
            sql.run("""
                    insert into annals.sequence (id, project_id, next_value, start, max_value, batch_size, low_water_mark, kind, name)
                    values (gen_random_uuid(), '%s', 1, 1, 1000, 1, 0, 'SYNCHRONOUS', 'invoice')
                    """.formatted(PROJECT));
            append(sql, 3);
            sql.run("""
                    insert into annals.audit_record (project_id, action, actor_type, actor_id, actor_name, subject_type,
                      subject_id, subject_name, outcome, ip_address, message, metadata)
                    values ('%s', 'whole', 'user', 'u-1', 'jane', 'volume', 'v-1', 'cache', 'success', '10.0.0.1',
                      'a message', '{"a": 1}')
                    """.formatted(PROJECT));
            append(sql, 300);
            append(sql, 900);
            for (int i = 0; i < 5; i++) {
                sql.run("insert into annals.audit_record (project_id, action, number_sequence) values ('" + PROJECT
                        + "', 'numbered', 'invoice')");
            }
            Await.until("all is derived", () -> sql.number("""
                    select count(*) from annals.projection_checkpoint
                    where project_id = '%s' and sequence_id >= 1024 and (projection = 'search' or sequence_id = %d)
                    """.formatted(PROJECT, SEQUENCE_IDS)) == 3);
            sql.leave();
            assertThat(service.process().isAlive()).isTrue();
        }
    }

    private static void append(SqlFixture sql, int count) throws SQLException {
        sql.run("insert into annals.audit_record (project_id, action, message) select '" + PROJECT
                + "', 'action ' || n, 'message ' || n from generate_series(1, " + count + ") as n");
    }

    @Test
    void aWholeDatabasePasses() {
        StringWriter printed = new StringWriter();
        assertThat(new Verify().run(whole, new PrintWriter(printed)))
                .as(printed.toString())
                .isZero();
    }

    static Stream<Arguments> plants() {
        List<Arguments> plants = new ArrayList<>();
        places(plants);
        contents(plants);
        derived(plants);
        schema(plants);
        assertThat(plants).hasSizeGreaterThanOrEqualTo(40);
        return plants.stream();
    }

    private static void plant(List<Arguments> plants, String name, String finding, String... statements) {
        plants.add(Arguments.of(name, finding, List.of(statements)));
    }

    private static void places(List<Arguments> plants) {
        String segment = "annals.feed_segment set first_sequence_id = %d, last_sequence_id = %d where " + OF_PROJECT
                + "first_sequence_id = %d";
        plant(
                plants,
                "a segment is gone",
                "belong to no segment",
                "delete from annals.feed_segment where " + OF_PROJECT + "first_sequence_id = 1");
        plant(plants, "segments overlap", "and to the one before it", "update " + segment.formatted(2, 2, 4));
        plant(
                plants,
                "a segment ends before it begins",
                "begins at 4 and ends at 2",
                "update " + segment.formatted(4, 2, 4));
        plant(
                plants,
                "all stand one further",
                "sequence ids 1 to 1 belong to no segment",
                "update annals.feed_segment set first_sequence_id = first_sequence_id + 10001,"
                        + " last_sequence_id = last_sequence_id + 1 where project_id = '" + PROJECT + "'",
                "update annals.feed_segment set first_sequence_id = first_sequence_id - 10000 where project_id = '"
                        + PROJECT + "'");
        plant(plants, "two segments are swapped", "does not match the log", swapSegments(1_205, 1_206));
        plant(
                plants,
                "two segments of one record are swapped by their numbers",
                "stands behind the number",
                swapSegments(1_207, 1_209));
        plant(
                plants,
                "the last segment is gone",
                "is in no segment",
                "delete from annals.feed_segment where " + OF_PROJECT + "first_sequence_id = " + SEQUENCE_IDS);
        plant(
                plants,
                "an append is gone",
                "which is not there",
                "delete from annals.append where cardinality(record_ids) = 3");
        plant(
                plants,
                "an append is shorter",
                "has 3 places, and its append",
                "update annals.append set record_ids = record_ids[1:2] where cardinality(record_ids) = 3");
        plant(
                plants,
                "an append lists a record twice",
                "has no place",
                "update annals.append set record_ids = record_ids[1:2] || record_ids[1] where cardinality(record_ids) = 3");
        plant(
                plants,
                "an append lists nobody's record",
                "which is not there",
                "update annals.append set record_ids = record_ids[1:2] || gen_random_uuid() where cardinality(record_ids) = 3");
        plant(plants, "an append is reversed", "in another order than they came in", """
                update annals.append set record_ids = (
                  select array_agg(each order by n desc) from unnest(record_ids) with ordinality as each (each, n))
                where cardinality(record_ids) = 3""");
        plant(plants, "two records of an append are swapped", "does not match the log", """
                update annals.append set record_ids = array[record_ids[1], record_ids[3], record_ids[2]]
                where cardinality(record_ids) = 3""");
        plant(plants, "two appends have changed a record", "does not name append", """
                update annals.append as a set record_ids = array[a.record_ids[1], b.record_ids[2], a.record_ids[3]]
                from annals.append as b where cardinality(a.record_ids) = 3 and cardinality(b.record_ids) = 44""", """
                update annals.append as b set record_ids = b.record_ids[1:1] || r.id || b.record_ids[3:44]
                from annals.audit_record as r
                where cardinality(b.record_ids) = 44 and r.id = (
                  select id from annals.audit_record where action = 'action 2' order by recorded_at limit 1)""");
        plant(plants, "an append has no segment", "is in no segment", """
                insert into annals.append (project_id, id, record_ids)
                select project_id, gen_random_uuid(), array[id] from annals.audit_record where action = 'whole'""");
        plant(
                plants,
                "a record was written with triggers off",
                "has no place",
                "insert into annals.audit_record (project_id, placed_with, action) values ('" + PROJECT
                        + "', gen_random_uuid(), 'lost')");
        plant(
                plants,
                "an append of one was written with triggers off",
                "has no place",
                "with new as (select gen_random_uuid() as id) insert into annals.audit_record (project_id, id, placed_with,"
                        + " action) select '" + PROJECT + "', id, id, 'lost' from new");
        plant(plants, "a record is gone", "which is not there", "delete from annals.audit_record where " + WHOLE);
        plant(
                plants,
                "a record names another append",
                "does not name append",
                "update annals.audit_record set placed_with = gen_random_uuid() where " + WHOLE);
        plant(
                plants,
                "the project is gone",
                "the project itself is missing",
                "delete from annals.project where id = '" + PROJECT + "'");
    }

    private static String[] swapSegments(int one, int other) {
        String set = "update annals.feed_segment set append_id = (select append_id from annals.feed_segment where"
                + " first_sequence_id = %d) where " + OF_PROJECT + "first_sequence_id = %d";
        return new String[] {
            "create temp table was as select * from annals.feed_segment where " + OF_PROJECT + "first_sequence_id in ("
                    + one + ", " + other + ")",
            "update annals.feed_segment set append_id = gen_random_uuid() where " + OF_PROJECT
                    + "first_sequence_id in (" + one + ", " + other + ")",
            set.replace("(select append_id from annals.feed_segment", "(select append_id from was")
                    .formatted(one, other),
            set.replace("(select append_id from annals.feed_segment", "(select append_id from was")
                    .formatted(other, one)
        };
    }

    private static void contents(List<Arguments> plants) {
        for (String change : List.of(
                "action = 'forged'",
                "message = 'another message'",
                "message = null",
                "\"timestamp\" = \"timestamp\" + interval '1 microsecond'",
                "recorded_at = recorded_at - interval '1 microsecond'",
                "actor_type = 'service'",
                "actor_id = 'u-2'",
                "actor_name = 'john'",
                "subject_type = 'disk'",
                "subject_id = 'v-2'",
                "subject_name = 'cash'",
                "outcome = 'failure'",
                "ip_address = '10.0.0.2'",
                "metadata = '{\"a\": 2}'",
                "recorded_by_role = 'somebody'")) {
            plant(
                    plants,
                    change,
                    "does not match the log",
                    "update annals.audit_record set " + change + " where " + WHOLE);
        }
        plant(
                plants,
                "a number is beyond its sequence",
                "goes on at 6",
                "update annals.audit_record set number_value = 99 where " + NUMBERED + 5);
        plant(
                plants,
                "two numbers are swapped",
                "stands behind the number",
                "update annals.audit_record set number_value = 999 where " + NUMBERED + 3,
                "update annals.audit_record set number_value = 3 where " + NUMBERED + 4,
                "update annals.audit_record set number_value = 4 where " + NUMBERED + 999);
        plant(plants, "a sequence is set back", "goes on at 2", "update annals.sequence set next_value = 2");
        plant(plants, "a sequence is gone", "which is not there", "delete from annals.sequence");
    }

    private static void derived(List<Arguments> plants) {
        plant(
                plants,
                "a projection is ahead of the feed",
                "the projection search has processed 2048",
                "update annals.projection_checkpoint set sequence_id = 2048 where projection = 'search'");
        plant(
                plants,
                "a search block is missing",
                "lacks the block of the records 1 to 1024",
                "delete from annals.search_block");
        plant(
                plants,
                "a search block is ahead",
                "has a block of the records 1025 to 2048",
                "insert into annals.search_block select project_id, 1, first_timestamp, last_timestamp, keys, places, masks"
                        + " from annals.search_block");
        plant(
                plants,
                "statistics lack a record",
                "the statistics count 1208",
                "update annals.daily_total set record_count = record_count - 1");
        plant(
                plants,
                "statistics lack a combination",
                "by action, actor and outcome",
                "delete from annals.daily_count where action = 'whole' and by_actor");
        plant(
                plants,
                "statistics lack a combination of action and outcome",
                "by action and outcome",
                "delete from annals.daily_count where action = 'whole' and not by_actor");
        plant(
                plants,
                "the log is ahead of the feed",
                "the log has 1210 records",
                "update annals.merkle_log set size = 1210 where project_id = '" + PROJECT + "'");
        plant(
                plants,
                "the log lacks a tile",
                "lacks the hashes of the records 257 to 512",
                "delete from annals.merkle_tile where level = 0 and tile = 1");
        plant(
                plants,
                "the log lacks a seed",
                "lacks the seed of the records 257 to 512",
                "delete from annals.merkle_seed where tile = 1");
        plant(
                plants,
                "a hash of the log is another one",
                "does not match the log",
                "update annals.merkle_tile set hashes = overlay(hashes placing sha256('x') from 33) where level = 0 and tile = 1");
        plant(
                plants,
                "a tile of the log has another root",
                "tile 1 of level 0 is damaged",
                "update annals.merkle_tile set root = set_byte(root, 31, get_byte(root, 31) # 1) where level = 0 and tile = 1");
        plant(
                plants,
                "the log's newest hashes are others",
                "are not those that the log has signed",
                "update annals.merkle_log set frontier = overlay(frontier placing sha256('x') from 1) where project_id = '"
                        + PROJECT + "'");
    }

    private static void schema(List<Arguments> plants) {
        for (String change : List.of(
                "alter table annals.append disable trigger place_segment",
                "alter table annals.audit_record enable always trigger gather_append",
                "drop trigger append_only on annals.feed_segment",
                "create trigger more before insert on annals.append for each row execute function annals.refuse_change()",
                "create or replace function annals.refuse_change() returns trigger language plpgsql as 'begin return null; end'",
                "alter function annals.place_segment() security invoker",
                "alter function annals.place_segment() reset search_path",
                "drop index annals.append_shared_append_id_idx",
                "alter table annals.feed_segment drop constraint feed_segment_append_key",
                "alter domain annals.message drop constraint message_length",
                "alter table annals.feed_segment alter column mark drop default",
                "alter table annals.audit_record alter column action drop not null",
                "alter table annals.audit_record add column more text",
                "alter table annals.audit_record enable row level security",
                "create rule nothing as on update to annals.project do instead nothing",
                "grant update on annals.audit_record to annals_service",
                "grant insert on annals.audit_record to public",
                "grant update (message) on annals.audit_record to annals_writer",
                "revoke select on annals.feed from annals_service",
                "revoke insert (action) on annals.audit_record from annals_writer",
                "grant execute on function annals.redact(uuid, uuid, text[], text, text, bytea, uuid, uuid, inet) to public")) {
            plant(plants, change, "schema: ", change);
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("plants")
    void whateverIsWrongIsFound(String name, String finding, List<String> statements) throws Exception {
        DatabaseUrl copy =
                whole.withDatabase("plant_" + UUID.randomUUID().toString().replace("-", ""));
        SqlFixture server = SqlFixture.on(whole.withDatabase("postgres"));
        server.runEach("create database " + copy.database() + " template " + whole.database());
        try {
            try (Connection superuser = copy.connect()) {
                SqlFixture.execute(superuser, "set session_replication_role = replica");
                for (String statement : statements) {
                    SqlFixture.execute(superuser, statement);
                }
            }
            StringWriter printed = new StringWriter();
            assertThat(new Verify().run(copy, new PrintWriter(printed)))
                    .as(name + ": " + printed)
                    .isEqualTo(1);
            assertThat(printed.toString().lines()).as(name).anyMatch(line -> line.contains(finding));
        } finally {
            server.runEach("drop database " + copy.database() + " with (force)");
        }
    }
}
