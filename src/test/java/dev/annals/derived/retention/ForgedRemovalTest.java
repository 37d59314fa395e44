package dev.annals.derived.retention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.log.TreeFixture;
import dev.annals.derived.projection.TestProjector;
import dev.annals.derived.search.SearchConfig;
import dev.annals.derived.search.SearchIndex;
import dev.annals.derived.statistics.CountsFixture;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Only expired records are removed, by any role and with any arguments. */
@BesideTheService
class ForgedRemovalTest {

    private static final String REFUSED = "42501";
    private static final String APPEND_ONLY = "23001";
    private static final String REMOVE = "select removed from annals.remove_expired(?, 1000, null)";

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private UUID project;

    /** A full tile of expired records, and young ones. */
    @BeforeEach
    void appendRecords() throws SQLException {
        project = log.insertProject();
        log.run(filled("insert into annals.audit_record (project_id, action, recorded_at) select ?, 'old',"
                + " clock_timestamp() - interval '20 days' from generate_series(1, 256)"));
        log.run(filled(
                "insert into annals.audit_record (project_id, action) select ?, 'young' from generate_series(1, 300)"));
        Pool pool = new PoolFixture(log.database(), Map.of()).open(4);
        new TestProjector(
                        pool,
                        List.of(
                                new SearchIndex(pool, Settings.of(SearchConfig.class, Map.of())),
                                CountsFixture.dailyCounts(Map.of()),
                                TreeFixture.logTree()),
                        1000)
                .catchUp();
        pool.close().await().indefinitely();
    }

    @AfterEach
    void youngRecordsStay() throws SQLException {
        assertThat(log.number(filled("select count(*) from annals.feed where project_id = ? and action = 'young'")))
                .isEqualTo(300);
    }

    private String filled(String sql) {
        return sql.replace("?", "'" + project + "'");
    }

    private String as(String role, String... statements) throws SQLException {
        return log.as(role, Stream.of(statements).map(this::filled).toArray(String[]::new));
    }

    private long count() throws SQLException {
        return log.number(filled("select count(*) from annals.audit_record where project_id = ?"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "delete from annals.audit_record where project_id = ?",
                "delete from annals.append where project_id = ?",
                "delete from annals.feed_segment where project_id = ?",
                "truncate annals.audit_record",
                "insert into annals.feed_horizon (project_id, sequence_id, recorded_before) values (?, 256, now())",
                "update annals.feed_horizon set sequence_id = 256, recorded_before = now()",
                "delete from annals.feed_horizon",
                "update annals.project set retention_days = 1 where id = ?",
                "update annals.audit_record set recorded_at = '2000-01-01' where project_id = ?",
                "delete from annals.merkle_seed",
                "select annals.uncount(?, '{}')",
                "set session_replication_role = replica",
                "alter table annals.audit_record disable trigger all",
                "create or replace function annals.is_held(uuid) returns boolean language sql return false"
            })
    void neitherWritersNorTheServiceCanRemoveRecordsBySql(String sql) throws SQLException {
        log.run(filled("select annals.set_retention(?, 10)"));
        for (String role : new String[] {"annals_writer", "annals_service"}) {
            assertThat(as(role, sql)).as(role).isEqualTo(REFUSED);
        }
        assertThat(as("annals_writer", REMOVE)).isEqualTo(REFUSED);
        assertThat(as("annals_writer", "select annals.set_retention(?, 1)")).isEqualTo(REFUSED);
        assertThat(count()).isEqualTo(556);
    }

    /** The database decides by its own policy and clock. */
    @Test
    void theServiceRemovesExpiredRecordsAlone() throws SQLException {
        String all = REMOVE.replace("1000", "2147483647");
        assertThat(as("annals_service", all)).isEqualTo("done");
        assertThat(count()).as("without a policy").isEqualTo(556);
        log.run(filled("select annals.set_retention(?, 21)"));
        assertThat(as(
                        "annals_service",
                        "set timezone = 'Pacific/Kiritimati'",
                        "create function pg_temp.statement_timestamp() returns timestamptz language sql return"
                                + " '2100-01-01'::timestamptz",
                        "set search_path = pg_temp, pg_catalog, annals",
                        all))
                .isEqualTo("done");
        assertThat(count()).as("by a policy of 21 days").isEqualTo(556);
        log.run(filled("select annals.set_retention(?, 19)"));
        assertThat(as("annals_service", "set transaction isolation level repeatable read", all))
                .isEqualTo("0A000");
        for (int i = 0; i < 3; i++) {
            assertThat(as("annals_service", all)).isEqualTo("done");
            assertThat(count()).isEqualTo(300);
        }
    }

    /** The owner can turn the triggers off, but removes nothing by mistake. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "delete from annals.audit_record where project_id = ?",
                "delete from annals.audit_record where false",
                "delete from annals.append where project_id = ?",
                "delete from annals.feed_segment where project_id = ?",
                "delete from annals.feed_horizon",
                "update annals.feed_horizon set sequence_id = 0",
                "truncate annals.feed_horizon",
                "truncate annals.audit_record"
            })
    void theOwnerIsStoppedByTheTriggersBeforeAndAfterARemoval(String sql) throws SQLException {
        log.run(filled("select annals.set_retention(?, 19)"));
        if (!sql.contains("horizon set")) {
            assertThat(as("none", sql)).isEqualTo(APPEND_ONLY);
        }
        assertThat(as("annals_service", REMOVE)).isEqualTo("done");
        assertThat(as("none", sql)).isEqualTo(APPEND_ONLY);
        assertThat(count()).isEqualTo(300);
    }

    @Test
    void theTransactionOfARemovalCanDeleteNothingElse() throws SQLException {
        log.run(filled("select annals.set_retention(?, 19)"));
        for (String sql : List.of(
                "delete from annals.audit_record where project_id = ?",
                "delete from annals.append where project_id = ?",
                "delete from annals.feed_segment where project_id = ?",
                "delete from annals.audit_record where project_id = annals.administration()")) {
            try (Connection connection = log.connect()) {
                SqlFixture.execute(connection, filled(REMOVE));
                assertThatThrownBy(() -> SqlFixture.execute(connection, filled(sql)))
                        .as(sql)
                        .hasMessageContaining("append-only");
                connection.rollback();
            }
        }
    }

    @Test
    void theAdministrationKeepsItsRecords() {
        assertThatThrownBy(() -> log.run("select annals.set_retention(annals.administration(), 1)"))
                .hasMessageContaining("keeps its records");
        assertThatThrownBy(() -> log.run("update annals.project set retention_days = 1 where name = 'annals'"))
                .hasMessageContaining("project_retention_reserved");
    }
}
