package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A writer whose own trigger holds the lock of its feed at COMMIT loses its session, if the operator set the limit. */
@Timeout(300)
class FeedLockWatchdogIT {

    private static final String LIMIT = "ANNALS_DATABASE_LOCK_HOLDER_LIMIT";
    private static final String PASSWORD = "secret";

    private final ExecutorService commits = Executors.newCachedThreadPool();
    private final String suffix = UUID.randomUUID().toString().replace("-", "");
    private final String writer = "annals_test_writer_" + suffix;

    @AfterEach
    void stop() {
        commits.shutdownNow();
    }

    @Test
    void aWriterThatSleepsAtItsCommitIsEndedOnceTheOwnerMayDoThat() throws Exception {
        String ownerName = "annals_test_owner_" + suffix;
        // Creates the roles of the schema in this cluster.
        TestDatabase.createMigratedDatabase();
        DatabaseUrl empty = TestDatabase.createDatabase();
        SqlFixture superuser = SqlFixture.on(empty);
        superuser.runEach(
                "create role " + ownerName + " login password '" + PASSWORD + "'",
                "create role " + writer + " login password '" + PASSWORD + "'",
                "grant annals_service, annals_writer to " + ownerName + " with admin option",
                "alter database \"" + empty.database() + "\" owner to " + ownerName);
        SqlFixture owner = SqlFixture.on(as(empty, ownerName));
        try (ServiceProcess service = ServiceProcess.start(Map.of(
                                "ANNALS_DATABASE_URL",
                                owner.database().withPassword(),
                                "ANNALS_ADMIN_TOKEN",
                                AuditLogFixture.ADMIN_TOKEN,
                                LIMIT,
                                "1s"))
                        .awaitListening();
                Connection ownSession = owner.connect()) {
            UUID held = grantedProject(owner);
            UUID slow = grantedProject(owner);
            // A slow session of the service itself.
            AuditLogFixture.lockFeed(ownSession, slow);
            Future<?> waitsForTheService = committed(empty, slow);
            Future<?> sleeping = commits.submit(sleepAtCommit(empty, held));
            Await.until("the writer sleeps", () -> sleepers(superuser) == 1);

            Await.until(
                    "the log says what to grant",
                    () -> service.output.stream()
                            .anyMatch(line -> line.contains(LIMIT)
                                    && line.endsWith("grant pg_signal_backend, pg_read_all_stats to " + ownerName)));
            assertThatThrownBy(() -> commit(empty, held, "set lock_timeout = '2s'"))
                    .as("others give up meanwhile")
                    .hasMessageContaining("lock timeout");
            assertThat(sleepers(superuser)).isEqualTo(1);
            superuser.runEach("grant pg_signal_backend to " + ownerName);
            assertThatThrownBy(() -> commit(empty, held, "set lock_timeout = '2s'"))
                    .hasMessageContaining("lock timeout");
            assertThat(sleepers(superuser)).as("one right is not enough").isEqualTo(1);

            superuser.runEach("grant pg_read_all_stats to " + ownerName);
            commit(empty, held);
            assertThatThrownBy(sleeping::get).hasMessageContaining("terminating connection");
            assertThat(owner.checkFeed(held)).isEqualTo(1);
            Await.until(
                    "the log says what was ended",
                    () -> service.output.stream()
                            .anyMatch(line -> line.contains("of role " + writer) && line.contains(held.toString())));
            assertThat(owner.texts("select concat_ws(' ', actor_type, subject_type, subject_id = '" + writer
                            + "', metadata ->> 'project_id' = '" + held
                            + "', (metadata ->> 'held_seconds')::integer >= 1) from annals.feed"
                            + " where action = 'annals.writer.end'"))
                    .containsExactly("service role t t t");

            assertThat(waitsForTheService).isNotDone();
            ownSession.rollback();
            waitsForTheService.get();
        }
    }

    @Test
    void aCommitThatWaitsForAStandbyIsLeftAlone(@TempDir Path data) throws Exception {
        try (PackagedService service = new PackagedService(data, Map.of(LIMIT, "1s"))) {
            DatabaseUrl url = service.database();
            SqlFixture superuser = SqlFixture.on(url);
            superuser.runEach("create role " + writer + " login password '" + PASSWORD + "'");
            UUID replicated = grantedProject(superuser);
            UUID held = grantedProject(superuser);
            superuser.runEach(
                    "alter role all set synchronous_commit = local",
                    // Ends the service's sessions, so that new ones have the role.
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'annals'",
                    "alter system set synchronous_standby_names = 'absent'",
                    "select pg_reload_conf()");
            Future<?> replicating = committed(url, replicated, "set synchronous_commit = on");
            Await.until("it waits", () -> waitingForAStandby(superuser) == 1);
            Future<?> behind = committed(url, replicated);
            Await.until("another one waits behind it", () -> superuser.number(SqlFixture.WAITING_COMMITS) == 1);
            // The watchdog first sees the second session when the commit above is long overdue.
            for (int i = 0; i < 2; i++) {
                Future<?> sleeping = commits.submit(sleepAtCommit(url, held));
                Await.until("a writer sleeps", () -> sleepers(superuser) == 1);
                commit(url, held);
                assertThatThrownBy(sleeping::get).hasMessageContaining("terminating connection");
            }
            assertThat(waitingForAStandby(superuser)).isEqualTo(1);
            assertThat(List.of(replicating, behind)).noneMatch(Future::isDone);
            superuser.runEach("alter system reset synchronous_standby_names", "select pg_reload_conf()");
            replicating.get();
            behind.get();
            assertThat(superuser.checkFeed(replicated)).isEqualTo(2);
        }
    }

    private UUID grantedProject(SqlFixture owner) throws SQLException {
        UUID project = owner.insertProject();
        owner.runEach("select annals.grant_writer('" + writer + "', '" + project + "')");
        return project;
    }

    private static long sleepers(SqlFixture superuser) throws SQLException {
        return superuser.number("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and"
                + " datname = current_database()");
    }

    private static long waitingForAStandby(SqlFixture superuser) throws SQLException {
        return superuser.number("select count(*) from pg_stat_activity where wait_event = 'SyncRep'");
    }

    private static DatabaseUrl as(DatabaseUrl url, String login) {
        return new DatabaseUrl(login, PASSWORD, url.host(), url.port(), url.database(), url.parameters());
    }

    private Callable<Void> sleepAtCommit(DatabaseUrl url, UUID project) {
        return () -> {
            commit(
                    url,
                    project,
                    "create function pg_temp.sleep() returns trigger language plpgsql as"
                            + " 'begin perform pg_sleep(3600); return null; end'",
                    "create temporary table held (id integer)",
                    "create constraint trigger held after insert on held deferrable initially deferred for each row"
                            + " execute function pg_temp.sleep()",
                    "insert into annals.audit_record (project_id, action) values ('" + project + "', 'sleeps')",
                    "insert into held values (1)");
            return null;
        };
    }

    private Future<?> committed(DatabaseUrl url, UUID project, String... before) {
        return commits.submit(() -> {
            commit(url, project, before);
            return null;
        });
    }

    /** A writer's transaction: these statements, and a record. */
    private void commit(DatabaseUrl url, UUID project, String... before) throws SQLException {
        try (Connection session = DriverManager.getConnection(url.jdbcUrl(), writer, PASSWORD)) {
            session.setAutoCommit(false);
            for (String sql : before) {
                SqlFixture.execute(session, sql);
            }
            SqlFixture.insert(session, project, "waits");
            session.commit();
        }
    }
}
