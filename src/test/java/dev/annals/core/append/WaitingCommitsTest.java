package dev.annals.core.append;

import static dev.annals.SqlFixture.insert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A commit to many projects that has to wait for one of them delays no other. */
@BesideTheService
@Timeout(60)
class WaitingCommitsTest {

    /** After so many waits a commit takes its locks in order and keeps them. */
    private static final int WAITS = 5;

    private static final SqlFixture log = SqlFixture.ofTheSchemaAlone();

    /** In the order of their ids. */
    private final List<UUID> projects = new ArrayList<>();

    private final List<Connection> holders = new ArrayList<>();
    private Connection writer;
    private CompletableFuture<Void> commit;

    @BeforeEach
    void insertIntoManyProjects() throws SQLException {
        for (int i = 0; i < WAITS + 3; i++) {
            projects.add(log.insertProject());
            holders.add(log.connect());
        }
        projects.sort(Comparator.comparing(UUID::toString));
        writer = log.connectAsWriter();
        for (UUID project : projects) {
            insert(writer, project, "of many");
        }
    }

    @AfterEach
    void everyFeedHasTheCommit() throws Exception {
        for (Connection holder : holders) {
            holder.close();
        }
        commit.get(30, TimeUnit.SECONDS);
        writer.close();
        for (UUID project : projects) {
            assertThat(log.checkFeed(project)).isPositive();
        }
    }

    private void lock(int project) throws SQLException {
        SqlFixture.lockFeed(holders.get(project), projects.get(project));
    }

    private void commitInBackground() {
        commit = CompletableFuture.runAsync(
                () -> {
                    try {
                        writer.commit();
                    } catch (SQLException e) {
                        throw new AssertionError(e);
                    }
                },
                task -> new Thread(task).start());
    }

    /** Waits until the commit waits for this project: it then holds the lock of the project's tuple. */
    private void awaitWaitingFor(int project) throws Exception {
        Await.until(
                "the commit waits for project " + project, () -> log.number("""
                select count(*) from pg_locks
                join pg_database on pg_database.oid = database and datname = current_database()
                join annals.project on project.ctid = format('(%%s,%%s)', page, tuple)::tid
                where locktype = 'tuple' and relation = 'annals.project'::regclass and project.id = '%s'
                """.formatted(projects.get(project))) > 0);
    }

    private void append(int project) throws SQLException {
        try (Connection other = log.connectAsWriter()) {
            SqlFixture.execute(other, "set lock_timeout = '2s'");
            insert(other, projects.get(project), "of one");
            other.commit();
        }
    }

    @Test
    void whileItWaitsForOneProjectAllOthersAreFree() throws Exception {
        int locked = projects.size() - 1;
        lock(locked);
        commitInBackground();
        awaitWaitingFor(locked);
        for (int project = 0; project < locked; project++) {
            append(project);
        }
        assertThat(commit).isNotDone();
        holders.get(locked).rollback();
        commit.get(30, TimeUnit.SECONDS);
    }

    @Test
    void itWaitsForOneAfterTheOtherAndHoldsNoneOfThemMeanwhile() throws Exception {
        for (int project = 0; project < WAITS; project++) {
            lock(project);
        }
        commitInBackground();
        for (int project = 0; project < WAITS; project++) {
            awaitWaitingFor(project);
            for (int free = 0; free < project; free++) {
                append(free);
            }
            append(projects.size() - 1);
            holders.get(project).rollback();
        }
        commit.get(30, TimeUnit.SECONDS);
    }

    @Test
    void afterSoManyWaitsItKeepsWhatItHasSoThatItComesToAnEnd() throws Exception {
        for (int project = 0; project <= WAITS; project++) {
            lock(project);
        }
        commitInBackground();
        for (int project = 0; project < WAITS; project++) {
            awaitWaitingFor(project);
            holders.get(project).rollback();
        }
        awaitWaitingFor(WAITS);
        assertThatThrownBy(() -> append(0)).hasMessageContaining("lock timeout");
        append(projects.size() - 1);
        holders.get(WAITS).rollback();
        commit.get(30, TimeUnit.SECONDS);
    }
}
