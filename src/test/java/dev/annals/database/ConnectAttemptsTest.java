package dev.annals.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.BreakablePath;
import dev.annals.SqlFixture;
import dev.annals.embedded.TestDatabase;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A database that lets nobody in, as one does that is just being restored, is asked once at a time, with pauses. */
@BesideTheService
class ConnectAttemptsTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int SIZE = 8;
    private static final int CLIENTS = 24;
    private static final int ROUNDS = 8;
    /** Of 50, 100, 200 and 400 ms; all later ones are as long as they get. */
    private static final int SHORT_PAUSES = 4;
    /** After the short pauses. */
    private static final int ATTEMPTS_PER_SECOND = 2;

    private static Uni<Boolean> works(Pool pool) {
        return pool.query("select 1").execute().map(rows -> true).onFailure().recoverWithItem(false);
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
    void thoseWhoWantAConnectionShareAnAttemptUntilTheDatabaseIsThereAgain() throws Exception {
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
}
