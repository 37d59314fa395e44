package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.BreakablePath;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A database that refuses logins, for example while it is restored, gets one attempt at a time, with pauses. */
@BesideTheService
class ConnectAttemptsTest {

    private static final Sql SELECT = Sql.of("select", "select 1");
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int POOL_WAIT_MILLIS = 200;
    private static final int SIZE = 8;
    private static final int CLIENTS = 24;
    private static final int ROUNDS = 8;
    /** The pauses of 50, 100, 200 and 400 ms; later ones have the longest time. */
    private static final int SHORT_PAUSES = 4;
    /** After the short pauses. */
    private static final int ATTEMPTS_PER_SECOND = 2;

    private static Uni<Boolean> works(Pool pool) {
        return SELECT.execute(pool).map(rows -> true).onFailure().recoverWithItem(false);
    }

    /** Whether each of many queries at the same time works. */
    private static List<Boolean> allWork(Pool pool) {
        return Uni.join()
                .all(Stream.generate(() -> works(pool)).limit(CLIENTS).toList())
                .andFailFast()
                .await()
                .atMost(LIMIT);
    }

    @Test
    void callersShareOneAttemptUntilTheDatabaseIsBack() throws Exception {
        DatabaseUrl url = TestDatabase.createMigratedDatabase();
        SqlFixture beside = SqlFixture.on(TestDatabase.createDatabase());
        String away = url.database() + "_away";
        beside.runEach("alter database " + url.database() + " rename to " + away);
        try (BreakablePath path = new BreakablePath(url.port())) {
            Pool pool = new PoolFixture(path.url(url), Map.of()).open(SIZE);
            long began = System.nanoTime();
            for (int round = 0; round < ROUNDS; round++) {
                assertThat(allWork(pool)).containsOnly(false);
            }
            double seconds = (System.nanoTime() - began) / 1e9;
            assertThat((double) path.connections())
                    .isGreaterThan(SHORT_PAUSES)
                    .isLessThan(SIZE + SHORT_PAUSES + 1 + ATTEMPTS_PER_SECOND * seconds);

            beside.runEach("alter database " + away + " rename to " + url.database());
            Await.until("it lets them in", () -> works(pool).await().atMost(LIMIT));
            assertThat(allWork(pool)).containsOnly(true);
            pool.close().await().atMost(LIMIT);
        }
    }

    /** A statement that ends without a connection must not end again when its time to wait for one is over, nor the other way round. */
    @Test
    void aStatementThatGetsNoConnectionEndsOnce() throws Exception {
        DatabaseUrl url = TestDatabase.createMigratedDatabase();
        List<Throwable> thrown = new CopyOnWriteArrayList<>();
        PoolFixture.vertx().exceptionHandler(thrown::add);
        try (BreakablePath path = new BreakablePath(url.port())) {
            Pool pool = new PoolFixture(path.url(url), Map.of("annals.database.pool-wait", POOL_WAIT_MILLIS + "ms"))
                    .open(1);
            SqlFixture beside = SqlFixture.on(TestDatabase.createDatabase());
            String away = url.database() + "_away";
            beside.runEach("alter database " + url.database() + " rename to " + away);
            assertThat(allWork(pool)).containsOnly(false);
            afterThePoolWait();
            path.swallow();
            assertThat(allWork(pool)).containsOnly(false);
            path.heal();
            path.cut();
            afterThePoolWait();
            pool.close().await().atMost(LIMIT);
        } finally {
            PoolFixture.vertx().exceptionHandler(null);
        }
        assertThat(thrown).isEmpty();
    }

    /** A timer that is set later, for a longer time, fires after those of the pool. */
    private static void afterThePoolWait() {
        Uni.createFrom()
                .completionStage(() -> PoolFixture.vertx()
                        .timer(2 * POOL_WAIT_MILLIS, TimeUnit.MILLISECONDS)
                        .toCompletionStage())
                .await()
                .atMost(LIMIT);
    }
}
