package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A loop of an idle database rests, and misses no commit. */
@BesideTheService
@Timeout(180)
class CommitsTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int POLLS = 20;

    @TempDir
    Path directory;

    private final AtomicInteger runs = new AtomicInteger();
    private final AtomicBoolean idle = new AtomicBoolean(true);

    private static boolean run(Supplier<Uni<Boolean>> task) {
        return task.get().await().atMost(LIMIT);
    }

    @Test
    void anIdleTaskRestsUntilSomethingIsCommitted() throws Exception {
        try (InstalledPostgres server = InstalledPostgres.start(directory)) {
            // A server of its own, without writes of others.
            server.restart("-c autovacuum=off");
            DatabaseUrl url = server.url("postgres");
            TestDatabase.migrate(url);
            Pool pool = new PoolFixture(url, Map.of()).open(1);
            Supplier<Uni<Boolean>> task = OneDatabase.of(pool)
                    .home()
                    .unlessIdle(
                            () -> Uni.createFrom().item(() -> {
                                runs.incrementAndGet();
                                return false;
                            }),
                            idle::get);

            for (int i = 0; i < POLLS; i++) {
                assertThat(run(task)).isFalse();
            }
            assertThat(runs).hasValue(1);

            SqlFixture.on(url).run("select annals.create_project('written', gen_random_uuid())");
            Await.until("the task sees the commit", () -> !run(task) && runs.get() == 2);

            idle.set(false);
            SqlFixture.on(url).run("select annals.create_project('again', gen_random_uuid())");
            Await.until("the task runs again", () -> !run(task) && runs.get() == 3);
            for (int i = 0; i < POLLS; i++) {
                run(task);
            }
            assertThat(runs).as("a task that is not idle").hasValue(3 + POLLS);
            pool.close().await().atMost(LIMIT);
        }
    }
}
