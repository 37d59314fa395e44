package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Behind a pooler the service works as without one, or refuses to work. */
@BesideTheService
@Timeout(180)
class PoolerTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final String PASSWORD = "secret";
    private static final Map<String, String> LOGINS = Map.of("annals", PASSWORD, "annals_app", PASSWORD);
    private static final UUID PROJECT = UUID.randomUUID();
    private static final Sql READ_HEADS = Sql.named("core/feed/read_heads");
    private static final Sql APPEND_RECORD = Sql.named("core/append/append_record");

    @TempDir
    static Path directory;

    private static InstalledPostgres server;

    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeAll
    static void startServer() throws Exception {
        server = InstalledPostgres.start(directory);
        TestDatabase.migrate(server.url("postgres"));
        sql().runEach("create role annals_app login password '" + PASSWORD + "'", "grant annals_service to annals_app");
        sql().run("insert into annals.project (id, name) values ('" + PROJECT + "', 'pooled')");
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable each : open) {
            each.close();
        }
        sql().runEach("alter role annals_app reset all");
    }

    @Test
    void aSessionOfAnotherRoleIsRefusedWithAdvice() throws Exception {
        long before = head();
        PoolFixture service = through("session", "annals");
        assertThatThrownBy(() -> heads(service))
                .hasMessageContaining("runs as annals and not as annals_service")
                .hasMessageContaining("alter role \"annals\" set role = 'annals_service'")
                .hasMessageContaining("ignore_startup_parameters");
        assertThat(head()).isEqualTo(before);
    }

    @Test
    void aSessionWithoutTheSettingsIsRefusedWithAdvice() throws Exception {
        sql().runEach("alter role annals_app set role = 'annals_service'");
        PoolFixture service = through("session", "annals_app");
        assertThatThrownBy(() -> heads(service))
                .hasMessageContaining("alter role \"annals_app\" set lock_timeout = '10000'")
                .hasMessageContaining("alter role \"annals_app\" set statement_timeout = '30000'")
                .hasMessageContaining("alter role \"annals_app\" set enable_seqscan = 'off'");
    }

    @Test
    void aLoginWithTheSettingsWorksInSessions() throws Exception {
        setAll();
        assertAppends(through("session", "annals_app"));
    }

    @Test
    void aLoginWithTheSettingsWorksInTransactions() throws Exception {
        // Debian 12 has an older one.
        assumeTrue(PgBouncer.hasPreparedStatements(), "PgBouncer is older than 1.21: -Dtests.pgbouncer names another");
        setAll();
        assertAppends(through("transaction", "annals_app"));
    }

    @Test
    void aSessionThatHasToLastIsRefusedBehindAPooler() throws Exception {
        setAll();
        PoolFixture service = through("session", "annals_app");
        assertThatThrownBy(() -> service.connect().await().atMost(LIMIT)).hasMessageContaining("RECYCLED_SERIES");
    }

    @Test
    void withoutAPoolerASessionMayLast() {
        PoolFixture service = new PoolFixture(server.url("postgres"), Map.of());
        service.connect().await().atMost(LIMIT).close().await().atMost(LIMIT);
    }

    private static void setAll() throws Exception {
        for (String setting : List.of(
                "role = 'annals_service'",
                "lock_timeout = '10s'",
                "statement_timeout = '30s'",
                "idle_in_transaction_session_timeout = '10s'",
                "enable_seqscan = 'off'",
                "enable_hashjoin = 'off'",
                "enable_mergejoin = 'off'",
                "plan_cache_mode = 'force_generic_plan'",
                "jit = 'off'",
                "search_path = pg_catalog, pg_temp")) {
            sql().runEach("alter role annals_app set " + setting);
        }
    }

    private PoolFixture through(String mode, String login) throws Exception {
        PgBouncer pooler = PgBouncer.start(directory, server, mode, LOGINS);
        open.add(pooler);
        return new PoolFixture(pooler.url(login, PASSWORD, "postgres"), Map.of());
    }

    /** Many statements at once, on more connections than the pooler has. */
    private static void assertAppends(PoolFixture service) throws Exception {
        Pool pool = service.open(8);
        try {
            long before = head();
            List<Uni<RowSet<Row>>> appends = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                appends.add(append(pool));
            }
            Uni.join().all(appends).andFailFast().await().atMost(LIMIT);
            assertThat(head()).isEqualTo(before + 200);
            assertThat(sql().number("select count(*) from annals.feed where project_id = '" + PROJECT + "'"))
                    .isEqualTo(before + 200);
        } finally {
            pool.close().await().atMost(LIMIT);
        }
    }

    private static Uni<RowSet<Row>> append(Pool pool) {
        Binds binds = APPEND_RECORD
                .bind("project_id", PROJECT)
                .bind("id", UUID.randomUUID())
                .bind("timestamp", OffsetDateTime.now(ZoneOffset.UTC))
                .bind("action", "a");
        for (String field : List.of(
                "actor_type",
                "actor_id",
                "actor_name",
                "subject_type",
                "subject_id",
                "subject_name",
                "outcome",
                "ip_address",
                "message",
                "metadata")) {
            binds = binds.bind(field, null);
        }
        return binds.bind("recorded_by_token", UUID.randomUUID()).execute(pool);
    }

    private static void heads(PoolFixture service) {
        Pool pool = service.open(2);
        try {
            READ_HEADS
                    .bind("project_ids", new UUID[] {PROJECT})
                    .execute(pool)
                    .await()
                    .atMost(LIMIT);
        } finally {
            pool.close().await().atMost(LIMIT);
        }
    }

    private static long head() throws Exception {
        return sql().number("select coalesce(max(last_sequence_id), 0) from annals.feed_segment where project_id = '"
                + PROJECT + "'");
    }

    private static SqlFixture sql() {
        return SqlFixture.on(server.url("postgres"));
    }
}
