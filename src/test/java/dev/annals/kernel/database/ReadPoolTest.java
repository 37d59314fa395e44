package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.sqlclient.ClosedConnectionException;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** A project gets its share of the connections for reads, and no more. */
@BesideTheService
class ReadPoolTest {

    private static final int LIMIT_SECONDS = 30;
    private static final Sql ANSWER = Sql.of("answer", """
            -- :project_id  uuid
            select :project_id::uuid
            """);
    private static final Sql TAKE_A_SECOND = Sql.of("take_a_second", """
            -- :project_id  uuid
            select :project_id::uuid, pg_sleep(1)
            """);

    private final SqlFixture sql = SqlFixture.ofTheSchemaAlone();
    private final int lock = UUID.randomUUID().hashCode() & Integer.MAX_VALUE;
    private final Sql awaitLock = Sql.of("await_lock", """
            -- :project_id  uuid
            select :project_id::uuid, pg_advisory_xact_lock_shared(%d)
            """.formatted(lock));
    private final UUID busy = UUID.randomUUID();
    private final UUID other = UUID.randomUUID();

    private PoolFixture pools;
    private Pool reads;

    private void open(int size, Map<String, String> settings) {
        Map<String, String> all = new HashMap<>(settings);
        all.put("annals.database.read-pool-size", Integer.toString(size));
        pools = new PoolFixture(sql.database(), all);
        reads = pools.openForReads();
    }

    @AfterEach
    void close() {
        reads.close().await().indefinitely();
        pools.close();
    }

    private CompletableFuture<RowSet<Row>> run(Sql statement, UUID project) {
        // The pool may have connections that were closed with one that was given up.
        return DatabaseFailure.retried(statement.bind("project_id", project).execute(reads))
                .subscribeAsCompletionStage();
    }

    private static void answers(CompletableFuture<?> statement) throws Exception {
        statement.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private Connection locked() throws Exception {
        Connection owner = sql.connect();
        SqlFixture.execute(owner, "select pg_advisory_xact_lock(" + lock + ")");
        return owner;
    }

    private List<Long> waiting() throws Exception {
        return sql.numbers("select pid from pg_locks where locktype = 'advisory' and not granted and objid = " + lock);
    }

    @Test
    void aProjectWhoseStatementsHangLeavesHalfOfTheConnectionsToOthers() throws Exception {
        open(4, Map.of());
        List<CompletableFuture<RowSet<Row>>> hanging = new ArrayList<>();
        try (Connection owner = locked()) {
            for (int i = 0; i < 10; i++) {
                hanging.add(run(awaitLock, busy));
            }
            Await.until("its share of them runs", () -> waiting().size() == 2);
            answers(run(ANSWER, other));
            answers(reads.query("select 1").execute().subscribeAsCompletionStage());
            hanging.add(reads.withConnection(
                            connection -> awaitLock.bind("project_id", busy).execute(connection))
                    .subscribeAsCompletionStage());
            Await.until("statements of no project run besides", () -> waiting().size() == 3);
            answers(run(ANSWER, other));
            assertThat(waiting()).hasSize(3);
            owner.rollback();
        }
        for (CompletableFuture<?> one : hanging) {
            answers(one);
        }
        answers(run(ANSWER, busy));
    }

    @Test
    void whatWaitsTooLongForItsTurnIsRefusedWithoutADatabaseThatIsAway() throws Exception {
        open(2, Map.of("annals.database.pool-wait", "300ms"));
        try (Connection owner = locked()) {
            CompletableFuture<RowSet<Row>> hanging = run(awaitLock, busy);
            Await.until("it runs", () -> waiting().size() == 1);
            CompletableFuture<RowSet<Row>> late = run(ANSWER, busy);
            answers(run(ANSWER, other));
            assertThatThrownBy(() -> answers(late)).hasCauseInstanceOf(ProjectBusyException.class);
            owner.rollback();
            answers(hanging);
        }
        answers(run(ANSWER, busy));
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aConnectionThatWasGivenUpCountsUntilTheServerHasEndedItsStatement() throws Exception {
        open(
                2,
                Map.of(
                        "annals.database.statement-timeout", "2s",
                        "annals.database.lock-timeout", "1s",
                        "annals.database.answer-timeout", "100ms"));
        try (Connection owner = locked()) {
            CompletableFuture<RowSet<Row>> deaf =
                    awaitLock.bind("project_id", busy).execute(reads).subscribeAsCompletionStage();
            Await.until("it runs", () -> waiting().size() == 1);
            long backend = waiting().get(0);
            CompletableFuture<RowSet<Row>> next;
            signal("STOP", backend);
            try {
                next = run(ANSWER, busy);
                assertThatThrownBy(() -> answers(deaf)).hasCauseInstanceOf(ClosedConnectionException.class);
                owner.rollback();
                answers(run(TAKE_A_SECOND, other));
                assertThat(next).isNotDone();
            } finally {
                signal("CONT", backend);
            }
            answers(next);
        }
    }

    private static void signal(String name, long process) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process))
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
    }
}
