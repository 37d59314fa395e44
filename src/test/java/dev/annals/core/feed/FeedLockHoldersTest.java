package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code annals.end_feed_lock_holder()} ends the sessions that block a feed, and no others. */
@BesideTheService
@Timeout(120)
class FeedLockHoldersTest {

    private static final String HOLDERS = "select pid || ' ' || transaction from annals.feed_lock_holders()";

    private final SqlFixture schema = SqlFixture.ofTheSchemaAlone();
    private final String login =
            "annals_test_holder_" + UUID.randomUUID().toString().replace("-", "");
    private UUID project;
    private Connection holder;

    @BeforeEach
    void connectTheHolder() throws SQLException {
        project = schema.insertProject();
        schema.runEach(
                "create role " + login + " login password 'secret'",
                // With immediate constraints, one statement takes the lock.
                "grant usage on schema annals to " + login,
                "grant select, update on annals.project to " + login);
        holder = DriverManager.getConnection(schema.database().jdbcUrl(), login, "secret");
        holder.setAutoCommit(false);
    }

    @AfterEach
    void dropTheRole() throws SQLException {
        holder.close();
        schema.runEach("drop owned by " + login, "drop role " + login);
    }

    @Test
    void theHolderForWhichAnotherWaitsIsEndedByItsTransactionAlone() throws Exception {
        AuditLogFixture.lockFeed(holder, project);
        assertThat(schema.texts(HOLDERS)).as("no session waits").isEmpty();
        assertThat(end(pid(), transaction())).isEqualTo("f");
        CompletableFuture<Void> waiting = waitForTheFeed();

        assertThat(schema.texts(HOLDERS)).containsExactly(pid() + " " + transaction());
        assertThat(end(pid(), "3")).as("another transaction").isEqualTo("f");
        String waiter = schema.text("select pid from pg_locks where not granted and locktype = 'transactionid'"
                + " and transactionid = '" + transaction() + "'::xid");
        assertThat(end(waiter, transaction())).as("the one that waits").isEqualTo("f");
        assertThat(waiting).isNotDone();
        assertThat(end(pid(), transaction())).isEqualTo("t");
        waiting.join();
        assertThatThrownBy(() -> SqlFixture.execute(holder, "select 1")).hasMessageContaining("terminating connection");
        assertThat(schema.number("select count(*) from annals.feed where action = 'annals.writer.end'"))
                .isEqualTo(1);
    }

    @Test
    void sessionsOfTheServiceAndOfTheOwnerAreNotEnded() throws Exception {
        schema.runEach("grant annals_service to " + login);
        AuditLogFixture.lockFeed(holder, project);
        CompletableFuture<Void> waiting = waitForTheFeed();
        assertThat(schema.texts(HOLDERS)).isEmpty();
        assertThat(end(pid(), transaction())).isEqualTo("f");
        holder.rollback();
        waiting.join();

        try (Connection owner = schema.connect()) {
            AuditLogFixture.lockFeed(owner, project);
            CompletableFuture<Void> behind = waitForTheFeed();
            assertThat(schema.texts(HOLDERS)).isEmpty();
            owner.rollback();
            behind.join();
        }
    }

    @Test
    void aHolderThatWaitsForAnotherFeedIsToldApart() throws Exception {
        String isWaiting = "select is_waiting from annals.feed_lock_holders() where project_id = '" + project + "'";
        UUID other = schema.insertProject();
        AuditLogFixture.lockFeed(holder, project);
        CompletableFuture<Void> waiting = waitForTheFeed();
        assertThat(schema.texts(isWaiting)).containsExactly("f");
        try (Connection owner = schema.connect()) {
            AuditLogFixture.lockFeed(owner, other);
            CompletableFuture<Void> both = CompletableFuture.runAsync(() -> {
                try {
                    AuditLogFixture.lockFeed(holder, other);
                } catch (SQLException e) {
                    throw new CompletionException(e);
                }
            });
            Await.until("the holder waits, too", () -> schema.number(SqlFixture.WAITING_COMMITS) == 2);
            assertThat(schema.texts(isWaiting)).containsExactly("t");
            owner.rollback();
            both.join();
        }
        holder.rollback();
        waiting.join();
    }

    @Test
    void aLockOfAnotherTableIsLeftAlone() throws Exception {
        schema.runEach(
                "create table public.other (id integer)",
                "insert into public.other values (1)",
                "grant all on public.other to " + login);
        SqlFixture.execute(holder, "update public.other set id = 2");
        CompletableFuture<Void> waiting = inBackground("update public.other set id = 3");
        Await.until(
                "it waits",
                () -> schema.number("select count(*) from pg_locks where not granted and"
                                + " locktype = 'transactionid' and transactionid = '" + transaction() + "'::xid")
                        == 1);
        assertThat(end(pid(), transaction())).isEqualTo("f");
        holder.rollback();
        waiting.join();
    }

    @Test
    void onlyTheServiceMayAsk() throws Exception {
        for (String role : List.of("annals_writer", login)) {
            try (Connection caller = schema.connect()) {
                SqlFixture.execute(caller, "set role " + role);
                assertThatThrownBy(() -> SqlFixture.execute(
                                caller, "select annals.end_feed_lock_holder(1, '3'::xid, interval '1s')"))
                        .hasMessageContaining("permission denied");
            }
        }
    }

    private String pid() throws SQLException {
        return SqlFixture.texts(holder, "select pg_backend_pid()").get(0);
    }

    private String transaction() throws SQLException {
        return SqlFixture.texts(holder, "select pg_current_xact_id()::xid::text")
                .get(0);
    }

    /** Runs as the service's role, in a transaction of its own. */
    private String end(String pid, String transaction) throws SQLException {
        try (Connection service = schema.connect()) {
            SqlFixture.execute(service, "set role annals_service");
            String ended = SqlFixture.texts(
                            service,
                            "select annals.end_feed_lock_holder(" + pid + ", '" + transaction
                                    + "'::xid, interval '61.5s')")
                    .get(0);
            service.commit();
            return ended;
        }
    }

    private CompletableFuture<Void> waitForTheFeed() throws Exception {
        CompletableFuture<Void> waiting =
                inBackground("select from annals.project where id = '" + project + "' for no key update");
        Await.until("it waits", () -> schema.number(SqlFixture.WAITING_COMMITS) == 1);
        return waiting;
    }

    private CompletableFuture<Void> inBackground(String sql) {
        return CompletableFuture.runAsync(() -> {
            try {
                schema.run(sql);
            } catch (SQLException e) {
                throw new CompletionException(e);
            }
        });
    }
}
