package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.query.Filter;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.search.SearchIndex;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import io.vertx.mutiny.sqlclient.Pool;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * After a crash of the database, notes that readers have and their records still exist, even if commits do not wait for the disk.
 */
@Slow
@BesideTheService
@Timeout(180)
class CrashedDatabaseTest {

    @TempDir
    Path directory;

    private final UUID project = UUID.randomUUID();
    private final MasterKey key = MasterKey.draw();
    private InstalledPostgres server;

    @BeforeEach
    void start() throws Exception {
        server = InstalledPostgres.start(directory);
        TestDatabase.migrate(server.url("postgres"));
        sql().run("select annals.create_project('crashed', '" + project + "')");
        // From now on the server answers a commit long before it is on disk.
        sql().runEach(
                        "alter system set synchronous_commit = off",
                        "alter system set wal_writer_delay = '10s'",
                        "select pg_reload_conf()");
    }

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void aReleasedNoteSurvivesACrash() throws Exception {
        for (int crashes = 1; crashes <= 3; crashes++) {
            Checkpoint before;
            try (Instance instance = new Instance()) {
                append(10);
                before = instance.logs.open(project);
            }
            server.crash();
            assertThat(before.size()).isEqualTo(10L * crashes);
            assertThat(sql().number("select signed_size from annals.merkle_log where project_id = '" + project + "'"))
                    .isEqualTo(before.size());
            try (Instance instance = new Instance()) {
                assertThat(instance.logs.open(project)).isEqualTo(before);
            }
        }
    }

    /** A record cannot be read before it is on disk. */
    @Test
    void aRecordThatWasReadSurvivesACrashThoughItsWriterDidNotWaitForTheDisk() throws Exception {
        for (int crashes = 1; crashes <= 3; crashes++) {
            append(10);
            insertAlone();
            server.crash();
            assertThat(sql().number("select count(*) from annals.feed where project_id = '" + project + "'"))
                    .isEqualTo(11L * crashes);
        }
    }

    /** Functions of a writer's cursor run during COMMIT, and after the last one of the schema. A reader is told. */
    @Test
    void aRecordWhoseWriterStopsWaitingForTheDiskDuringCommitMayBeLostAndItsReadersAreTold() throws Exception {
        append(1);
        sql().run(
                        "declare late cursor with hold for select set_config('synchronous_commit', 'off', true)",
                        "insert into annals.audit_record (project_id, action) values ('" + project + "', 'lost')");
        Cursor behind = read(null).pollMore();
        assertThat(behind.sequenceId()).isEqualTo(2);
        server.crash();
        append(1);
        assertThat(sql().texts("select action from annals.feed where project_id = '" + project
                        + "' and sequence_id = 2"))
                .containsExactly("action 1");
        assertThatThrownBy(() -> read(behind))
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        told -> assertThat(told.problem().type()).isEqualTo(ProblemType.FEED_REWOUND));
    }

    private FeedPage read(@Nullable Cursor cursor) {
        try (Instance instance = new Instance()) {
            return new DatabaseReader(instance.pool, new SearchIndex(instance.pool, () -> 500))
                    .read(project, new FeedQuery(Order.ASCENDING, cursor, null, 10, 1 << 20, Filter.NONE))
                    .await()
                    .indefinitely();
        }
    }

    /** The counter-example: other data is lost. */
    @Test
    @TakesLong
    void otherDataMayBeLost() throws Exception {
        sql().runEach("create table other (n integer)", "set synchronous_commit = on", "insert into other values (1)");
        sql().run("insert into other values (2)");
        server.crash();
        assertThat(sql().number("select count(*) from other")).isEqualTo(1);
    }

    /** An append of one record, as the service writes one. */
    private void insertAlone() throws Exception {
        UUID id = UUID.randomUUID();
        sql().run("insert into annals.audit_record (project_id, id, placed_with, action) values ('" + project + "', '"
                + id + "', '" + id + "', 'a')");
    }

    private void append(int count) throws Exception {
        sql().run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'action ' || n from generate_series(1, " + count + ") as n");
    }

    /** An instance that stores its notes in the database alone. */
    private final class Instance implements AutoCloseable {

        private final Pool pool = new PoolFixture(server.url("postgres"), Map.of()).open(2);
        final TestLogs logs = new TestLogs(pool, key, Map.of());

        @Override
        public void close() {
            pool.close().await().indefinitely();
        }
    }

    private SqlFixture sql() {
        return SqlFixture.on(server.url("postgres"));
    }
}
