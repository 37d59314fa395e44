package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class ServicePoolTest {

    private static final Duration LIMIT = Duration.ofSeconds(20);

    @Inject
    Pool pool;

    @Test
    void theServiceRunsAsItsOwnRoleAndWithItsTimeouts() {
        var settings = pool.query("""
                        select current_user, current_setting('application_name'),
                               current_setting('lock_timeout'), current_setting('statement_timeout'),
                               current_setting('idle_in_transaction_session_timeout')
                        """).executeAndAwait().iterator().next();

        assertThat(List.of(
                        settings.getString(0),
                        settings.getString(1),
                        settings.getString(2),
                        settings.getString(3),
                        settings.getString(4)))
                .containsExactly("annals_service", "annals", "10s", "30s", "10s");
    }

    @Test
    void theServiceCannotChangeARecord() {
        assertThat(pool.query("""
                                select has_table_privilege('annals.audit_record', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
                                """)
                        .execute()
                        .await()
                        .atMost(LIMIT)
                        .iterator()
                        .next()
                        .getBoolean(0))
                .isFalse();
    }

    /** The client's own limit is 2,048 characters; the statements that pages and filters use are longer. */
    @Test
    void aLongStatementIsPreparedOnce() {
        String statement = "select 'prepared once'" + " ".repeat(10_000);

        Long prepared = pool.withConnection(connection -> connection
                        .preparedQuery(statement)
                        .execute()
                        .chain(() -> connection.preparedQuery(statement).execute())
                        .chain(() -> connection.query("""
                                        select count(*) from pg_prepared_statements
                                        where statement like 'select ''prepared once''%' and generic_plans = 2
                                        """).execute()))
                .await()
                .atMost(LIMIT)
                .iterator()
                .next()
                .getLong(0);

        assertThat(prepared).isEqualTo(1);
    }
}
