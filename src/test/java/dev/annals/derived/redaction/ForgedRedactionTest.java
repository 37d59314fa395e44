package dev.annals.derived.redaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No role changes a record except by a redaction, or forges the event of one. */
@BesideTheService
class ForgedRedactionTest {

    private static final String REFUSED = "42501";

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private UUID project;
    private UUID record;

    @BeforeEach
    void appendARecord() throws SQLException {
        project = log.insertProject();
        record = UUID.randomUUID();
        log.run("insert into annals.audit_record (project_id, id, placed_with, action, message, outcome) values ('"
                + project + "', '" + record + "', '" + record + "', 'a', 'a message', 'o')");
    }

    private String filled(String sql) {
        return sql.replace("?", "'" + project + "'").replace("$", "'" + record + "'");
    }

    private static String stateOf(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            connection.commit();
            return "done";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    private String as(String role, String sql) throws SQLException {
        try (Connection connection = log.connect()) {
            SqlFixture.execute(connection, "set role " + role);
            String state = stateOf(connection, filled(sql));
            connection.rollback();
            return state;
        }
    }

    private static final String REDACT =
            "select annals.redact(?, $, array['message'], 'r', null, decode(repeat('00', 32), 'hex'), gen_random_uuid(), null, null)";

    @ParameterizedTest
    @ValueSource(
            strings = {
                "update annals.audit_record set message = null where id = $",
                "update annals.audit_record set redaction = '{}' where id = $",
                "insert into annals.redaction values (?, 1, $, array['message'], gen_random_uuid())",
                "update annals.redaction set fields = array['outcome']",
                "delete from annals.redaction",
                "update annals.merkle_seed set seed = seed",
                "delete from annals.merkle_seed",
                "insert into annals.audit_record (project_id, action, redaction) values (?, 'a', '{}')",
                "set session_replication_role = replica",
                "alter table annals.audit_record disable trigger all",
                "create or replace function annals.is_owner() returns boolean language sql return true"
            })
    void neitherWritersNorTheServiceCanRedactBySql(String sql) throws SQLException {
        for (String role : new String[] {"annals_writer", "annals_service"}) {
            assertThat(as(role, sql)).as(role).isEqualTo(REFUSED);
        }
    }

    @Test
    void aWriterCannotCallTheFunction() throws SQLException {
        assertThat(as("annals_writer", REDACT)).isEqualTo(REFUSED);
        assertThat(as("annals_writer", "select annals.leaf_fields(null, null)")).isEqualTo(REFUSED);
        assertThat(as("annals_service", REDACT)).isEqualTo("done");
    }

    @ParameterizedTest
    @ValueSource(strings = {"annals_writer", "annals_service"})
    void noRoleCanInsertAnEvent(String role) throws SQLException {
        String insert = role.equals("annals_writer")
                ? "insert into annals.audit_record (project_id, action) values (?, 'annals.redact')"
                : "insert into annals.audit_record (project_id, id, placed_with, action, recorded_by_token, recorded_by_role)"
                        + " select ?, i, i, 'annals.redact', i, null from gen_random_uuid() as i";
        for (String before : new String[] {
            "select 1",
            "set annals.redacting = 'on'",
            "set annals.owner = 'on'",
            "set search_path = public, annals",
            "create function pg_temp.pg_has_role(name, oid, text) returns boolean language sql return true;"
                    + " set search_path = pg_temp, pg_catalog",
        }) {
            try (Connection connection = log.connect()) {
                SqlFixture.execute(connection, "set role " + role);
                SqlFixture.execute(connection, before);
                assertThat(stateOf(connection, filled(insert))).as(before).isEqualTo("23514");
                connection.rollback();
            }
        }
        assertThat(as(role, insert.replace("annals.redact", "annals.anything"))).isEqualTo("23514");
    }

    /** The owner can turn the triggers off, but changes nothing by mistake. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "update annals.audit_record set message = null where id = $",
                "update annals.audit_record set redaction = '{}' where id = $",
                "update annals.audit_record set action = 'b' where id = $",
                "delete from annals.audit_record where id = $",
                "delete from annals.redaction",
                "update annals.redaction set number = number"
            })
    void theOwnerIsStoppedByTheTriggersBeforeAndAfterARedaction(String sql) throws SQLException {
        assertThat(as("none", sql)).isEqualTo("23001");
        assertThat(as("annals_service", REDACT)).isEqualTo("done");
        String row = log.text(filled("select r::text from annals.audit_record r where id = $"));
        assertThat(as("none", sql.replace("message = null", "outcome = null"))).isEqualTo("23001");
        assertThat(log.text(filled("select r::text from annals.audit_record r where id = $")))
                .isEqualTo(row);
    }

    @Test
    void theTransactionOfARedactionCanChangeNothingElse() throws SQLException {
        for (String change : new String[] {"outcome = null", "action = 'b'", "message = 'c'", "recorded_at = now()"}) {
            try (Connection connection = log.connect()) {
                SqlFixture.execute(connection, filled(REDACT));
                assertThatThrownBy(() -> SqlFixture.execute(
                                connection, filled("update annals.audit_record set " + change + " where id = $")))
                        .hasMessageContaining("append-only");
                connection.rollback();
            }
        }
    }
}
