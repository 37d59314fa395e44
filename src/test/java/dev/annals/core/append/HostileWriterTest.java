package dev.annals.core.append;

import static dev.annals.AuditLogFixture.insert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Verify;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import picocli.CommandLine;

/** A login that may append to one project by plain SQL can harm no other project, feed or reader. */
@QuarkusTest
@Timeout(120)
class HostileWriterTest {

    private static final String PASSWORD = "secret";

    @Inject
    AuditLogFixture log;

    private final String login = "writer_" + UUID.randomUUID().toString().replace("-", "");
    private Project granted;
    private UUID mine;
    private UUID foreign;
    private Connection owner;
    private Connection writer;

    @BeforeEach
    void grantOneOfTwoProjects() throws SQLException {
        granted = log.newProject();
        mine = granted.id();
        foreign = log.newProject().id();
        owner = log.connect();
        asOwner("create role " + login + " login password '" + PASSWORD + "'");
        asOwner("select annals.grant_writer('" + login + "', '" + mine + "')");
        writer = connect(login);
        write("set lock_timeout = '5s'");
        writer.commit();
    }

    @AfterEach
    void checkFeeds() throws SQLException {
        writer.close();
        owner.rollback();
        asOwner("select annals.revoke_writer(role_name, project_id) from annals.writer_grant where role_name = '"
                + login + "'");
        asOwner("drop owned by " + login + " cascade");
        asOwner("drop role " + login);
        owner.close();
        log.checkFeed(mine);
        assertThat(log.checkFeed(foreign)).isZero();
    }

    @Test
    void aProjectThatIsNotGrantedIsRefusedHoweverTheRecordComes() throws Exception {
        assertThatThrownBy(() -> write(record(foreign)))
                .hasMessageContaining(login + " may not append to project " + foreign)
                .hasMessageContaining("select annals.grant_writer('" + login + "', '" + foreign + "')");
        writer.rollback();
        assertRefused("42501", record(foreign));
        assertRefused("42501", record(mine) + ", ('" + foreign + "', 'x')");
        assertRefused("42501", "with one as (" + record(mine) + " returning 1) " + record(foreign));
        assertThatThrownBy(() -> writer.unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn(
                                "copy annals.audit_record (project_id, action) from stdin",
                                new StringReader(mine + "\tx\n" + foreign + "\tx\n")))
                .hasMessageContaining("may not append");
        writer.rollback();
        write(record(mine));
        writer.commit();
    }

    @Test
    void aGrantCountsForTheMembersOfItsRoleUntilItIsTakenBack() throws SQLException {
        String member = login + "_m";
        asOwner("create role " + member + " login password '" + PASSWORD + "' in role " + login);
        try (Connection connection = connect(member)) {
            insert(connection, mine, "by a member");
            connection.commit();
            asOwner("select annals.revoke_writer('" + login + "', '" + mine + "')");
            assertThatThrownBy(() -> insert(connection, mine, "too late")).hasMessageContaining("may not append");
        } finally {
            asOwner("drop role " + member);
        }
        assertThat(log.feed(mine)).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "select annals.grant_writer('postgres', gen_random_uuid())",
                "select annals.revoke_writer('postgres', gen_random_uuid())",
                "insert into annals.writer_grant values (gen_random_uuid(), 'postgres')",
                "select from annals.writer_grant",
                "select annals.may_write(gen_random_uuid())",
                "select from annals.project for key share",
                "lock table annals.project in access share mode",
                "select setval('annals.shared_append_number', 1)",
                "select annals.max_plus_one('annals.project', 'name')",
                "insert into annals.max_plus_one_lock values ('annals.project'::regclass, 'name')",
                "create trigger t after insert on pg_temp.own for each row execute function annals.place_segment()",
                "create trigger t after insert on pg_temp.own for each row execute function annals.gather_append()",
                "create trigger t before insert on pg_temp.own for each row execute function annals.complete_record()",
                "create trigger t after insert on pg_temp.own for each row execute function annals.keep_native_sequence()"
            })
    void noLoginCanReachWhatFeedsDependOn(String attack) throws SQLException {
        write("create temporary table own (project_id uuid, id uuid)");
        assertRefused("42501", attack);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "placed_with, gen_random_uuid()",
                "recorded_at, 'infinity'",
                "recorded_at, '2001-01-01'",
                "recorded_by_token, gen_random_uuid()",
                "recorded_by_role, 'somebody'",
                "number_value, 1"
            })
    void valuesThatTheDatabaseKnowsCannotBeForged(String forged) throws SQLException {
        String[] column = forged.split(", ", 2);
        assertRefused(
                "42501",
                "insert into annals.audit_record (project_id, action, " + column[0] + ") values ('" + mine + "', 'x', "
                        + column[1] + ")");
    }

    @Test
    void aRecordSaysWhoLoggedInAndNotWhoseRoleTheyTook() throws SQLException {
        write("set role annals_writer");
        write(record(mine));
        writer.commit();
        assertThat(log.text("select recorded_by from annals.feed where project_id = '" + mine + "'"))
                .isEqualTo("role:" + login);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"timestamp\"; 'infinity'",
                "\"timestamp\"; '-infinity'",
                "\"timestamp\"; '10000-01-01'",
                "\"timestamp\"; '0001-01-01 BC'",
                "action; ''",
                "outcome; ''",
                "message; repeat('x', 65536)",
                "metadata; '[]'",
                "metadata; '1'",
                "metadata; '{\"a\": 1e309}'",
                "metadata; '{\"a\": -1.7976931348623158e308}'",
                "metadata; '{\"a\": 1e131071}'",
                "metadata; '{\"a\": [1, {\"b\": 1e-16383}]}'",
                "metadata; jsonb_build_object('a', ('1.' || repeat('0', 16000))::numeric)",
                "metadata; jsonb_build_object('a', array(select 1e131071::numeric from generate_series(1, 1000)))",
                "metadata; jsonb_build_object('a', array(select 1e308::numeric from generate_series(1, 500)))",
                "metadata; ('{\"a\": ' || repeat('[', 32) || repeat(']', 32) || '}')::jsonb",
                "metadata; (repeat('{\"a\": ', 33) || '1' || repeat('}', 33))::jsonb",
                "metadata; (repeat('{\"a\": ', 1000) || '1' || repeat('}', 1000))::jsonb",
                "metadata; jsonb_build_object('a', repeat(U&'\\0001', 21845))",
                "metadata; jsonb_build_object('a', repeat('x', 3000000))"
            })
    void whatCouldNotBeServedIsNotStored(String value) throws SQLException {
        assertRefused("23514", withValue(value));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"timestamp\"; '0001-01-01T00:00:00Z'",
                "\"timestamp\"; '9999-12-31T23:59:59.999999Z'",
                "action; repeat(U&'\\0001', 255)",
                "actor_name; repeat(U&'\\001F', 1024)",
                "message; ''",
                "message; repeat(U&'\\0001', 65535)",
                "ip_address; '10.1.2.3/8'",
                "ip_address; '::/0'",
                "id; '00000000-0000-0000-0000-000000000000'",
                "id; 'ffffffff-ffff-ffff-ffff-ffffffffffff'",
                "metadata; '{}'",
                "metadata; '{\"a\": 5e-324, \"b\": 4.9406564584124654e-324, \"c\": -1.7976931348623157e308, \"d\": 1.000}'",
                "metadata; (repeat('{\"a\": ', 32) || '1' || repeat('}', 32))::jsonb",
                "metadata; ('{\"a\": ' || repeat('[', 31) || repeat(']', 31) || '}')::jsonb",
                "metadata; jsonb_build_object('a', repeat(U&'\\0001', 21843))",
                "metadata; jsonb_build_object('a', array(select 1e300::numeric from generate_series(1, 400)))"
            })
    void whatIsStoredCanBeRead(String value) throws SQLException {
        write(withValue(value));
        writer.commit();
        granted.request().get("/v1/project-logs").then().statusCode(200).body("results.size()", equalTo(1));
        assertThat(verify()).isZero();
    }

    @Test
    void aRecordThatTakesTheIdOfAnAppendToComeIsPlacedAndReadLikeAnyOther() throws SQLException {
        write(record(mine));
        writer.commit();
        UUID shared = UUID.fromString(
                log.text("select placed_with from annals.audit_record where project_id = '" + mine + "'"));
        write("insert into annals.audit_record (project_id, id, action) values ('" + mine + "', '" + shared
                + "', 'alone')");
        write(record(mine) + ", ('" + mine + "', 'y')");
        writer.commit();
        assertThat(log.checkFeed(mine)).isEqualTo(4);
        granted.request()
                .get("/v1/project-logs/" + shared)
                .then()
                .statusCode(200)
                .body("action", equalTo("alone"));
        assertThat(verify()).isZero();
    }

    @Test
    void recordsThatTakeTheIdsOfAppendsToComeShutNoOtherSessionOut() throws SQLException {
        write(record(mine) + ", ('" + mine + "', 'y')");
        writer.commit();
        UUID shared = UUID.fromString(
                log.text("select distinct placed_with from annals.audit_record where project_id = '" + mine + "'"));
        for (int next = 1; next <= 8; next++) {
            write("insert into annals.audit_record (project_id, id, action) values ('" + mine + "', '"
                    + new UUID(shared.getMostSignificantBits(), shared.getLeastSignificantBits() + next)
                    + "', 'alone')");
            writer.commit();
        }
        write("insert into annals.audit_record (project_id, id, action) values ('" + mine
                + "', gen_random_uuid(), 'x'), ('" + mine + "', '" + shared + "', 'the id of its own append'), ('"
                + mine + "', gen_random_uuid(), 'y')");
        writer.commit();
        for (int session = 0; session < 4; session++) {
            try (Connection other = connect(login)) {
                SqlFixture.execute(other, record(mine) + ", ('" + mine + "', 'y')");
                other.commit();
            }
        }
        assertThat(log.checkFeed(mine)).isEqualTo(21);
        assertThat(verify()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " on conflict do nothing", " on conflict do nothing returning 1"})
    void whetherAProjectThatIsNotGrantedHasAnIdIsNotTold(String conflict) throws SQLException {
        UUID taken = UUID.randomUUID();
        asOwner("insert into annals.audit_record (project_id, id, action) values ('" + mine + "', '" + taken
                + "', 'x')");
        owner.commit();
        asOwner("select annals.revoke_writer('" + login + "', '" + mine + "')");
        for (UUID id : List.of(taken, UUID.randomUUID())) {
            String values = "('" + mine + "', '" + id + "', 'x')";
            assertRefused(
                    "42501", "insert into annals.audit_record (project_id, id, action) values " + values + conflict);
            assertRefused(
                    "42501",
                    "insert into annals.audit_record (project_id, id, action) values " + values + ", " + values
                            + conflict);
        }
    }

    @Test
    void noLockThatALoginCanTakeStopsAFeed() throws SQLException {
        // Any login can compute every hash of a project's id that this schema knows a function for.
        write("select pg_advisory_lock(uuid_hash_extended('" + mine + "', 4702111234474983745))");
        write("select pg_advisory_lock(hashtextextended('" + mine + "', 0))");
        granted.request()
                .contentType("application/json")
                .body("{\"action\": \"not delayed\"}")
                .post("/v1/project-logs")
                .then()
                .statusCode(201);
    }

    @Test
    void aSettingLocksNoProjectThatItsWriterMayNotAppendTo() throws SQLException {
        AuditLogFixture.lockFeed(owner, foreign);
        write(record(mine));
        write("select set_config('annals.unplaced_projects', '" + foreign + "," + mine + "', true)");
        writer.commit();
        assertThat(log.feed(mine)).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "x,y", ",", "00000000-0000-0000-0000-000000000000"})
    void aSettingHarmsOnlyItsWriter(String content) throws SQLException {
        write(record(mine));
        write("select set_config('annals.unplaced_projects', '" + content + "', true)");
        try {
            writer.commit();
        } catch (PSQLException e) {
            assertThat(e.getSQLState()).isEqualTo("22P02");
        }
        UUID id = insert(owner, mine, "afterwards");
        owner.commit();
        assertThat(log.feed(mine)).endsWith(id);
    }

    @Test
    void noSettingHasASayInNumbers() throws SQLException {
        defineSequence(mine);
        write("select set_config('annals.numbers_drawn', '1000', false)");
        write("select set_config('annals.unplaced_projects', '" + mine + "', false)");
        write(numbered(mine));
        write(record(mine));
        writer.commit();
        assertThat(log.text("select string_agg(number_value::text, ',') from annals.feed where project_id = '" + mine
                        + "'"))
                .isEqualTo("1");
    }

    @Test
    void theSequenceOfAProjectThatIsNotGrantedIsNotEvenLocked() throws SQLException {
        defineSequence(foreign);
        // The second row fails in another way: that it is not come to shows that the first was refused by itself.
        assertRefused(
                "42501",
                "insert into annals.audit_record (project_id, action, number_sequence) select '" + foreign
                        + "', (1 / (2 - i))::text, 'invoice' from generate_series(1, 2) i");
    }

    @ParameterizedTest
    @ValueSource(strings = {"set constraints all immediate", " SET  CONSTRAINTS all\nimmediate;"})
    void aTransactionThatStaysOpenCannotPlaceItsRecordsBeforeItsEnd(String immediate) throws SQLException {
        write(record(mine));
        assertRefused("0A000", immediate);
        write(immediate);
        assertRefused("0A000", record(mine));
        write(immediate);
        assertThatThrownBy(() -> insert(writer, mine, "bound")).hasMessageContaining("SET CONSTRAINTS");
        writer.rollback();
    }

    @Test
    void whateverEndsATransactionPlacesItsRecords() throws SQLException {
        writer.setAutoCommit(true);
        insert(writer, mine, "bound");
        for (String transaction : List.of(
                record(mine),
                "begin; " + record(mine) + "; commit",
                "set constraints all deferred; " + record(mine),
                "begin; set constraints all deferred; " + record(mine) + "; end",
                "do $$ begin " + record(mine) + "; commit; " + record(mine) + "; end $$",
                "begin; " + record(mine) + "; set constraints all deferred; commit")) {
            write(transaction);
        }
        assertThat(log.checkFeed(mine)).isEqualTo(8);
    }

    private void defineSequence(UUID project) throws SQLException {
        asOwner("insert into annals.sequence"
                + " (id, project_id, next_value, start, max_value, batch_size, low_water_mark, kind, name) values"
                + " (gen_random_uuid(), '" + project + "', 1, 1, 1000, 1, 0, 'SYNCHRONOUS', 'invoice')");
    }

    private static String record(UUID project) {
        return "insert into annals.audit_record (project_id, action) values ('" + project + "', 'x')";
    }

    private static String numbered(UUID project) {
        return "insert into annals.audit_record (project_id, action, number_sequence) values ('" + project
                + "', 'x', 'invoice')";
    }

    /** A record with a value of one column: {@code column; expression}. */
    private String withValue(String value) {
        String[] column = value.split("; ", 2);
        return column[0].equals("action")
                ? "insert into annals.audit_record (project_id, action) values ('" + mine + "', " + column[1] + ")"
                : "insert into annals.audit_record (project_id, action, " + column[0] + ") values ('" + mine
                        + "', 'x', " + column[1] + ")";
    }

    private void assertRefused(String state, String sql) throws SQLException {
        assertThatThrownBy(() -> write(sql))
                .as(sql)
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(state));
        writer.rollback();
    }

    private void write(String sql) throws SQLException {
        SqlFixture.execute(writer, sql);
    }

    private void asOwner(String sql) throws SQLException {
        SqlFixture.execute(owner, sql);
        owner.commit();
    }

    private int verify() {
        return CommandLine.populateCommand(new Verify(), "--project=" + mine)
                .run(TestDatabase.url(), new PrintWriter(new StringWriter()));
    }

    private static Connection connect(String login) throws SQLException {
        Connection connection = DriverManager.getConnection(TestDatabase.url().jdbcUrl(), login, PASSWORD);
        connection.setAutoCommit(false);
        return connection;
    }
}
