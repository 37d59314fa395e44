package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Spares the loops of an idle database their statements: they share one that tells whether anything was committed. Databases of one
 * server see the commits of all of them. Safe for any thread.
 */
final class Commits {

    private static final Sql READ_COMMITS = Sql.named("kernel/database/read_commits");
    /** A commit is noticed this much later, and an idle database has two statements a second. */
    private static final Duration AGE = Duration.ofMillis(450);
    /** A database may be another one since, with the same transactions. */
    private static final Duration LONGEST = Duration.ofSeconds(15);

    private final Pool pool;
    private @Nullable Uni<String> newest;
    private long readAt;

    Commits(Pool pool) {
        this.pool = pool;
    }

    private record Idle(String commits, long since) {}

    /** As {@link Database#unlessIdle}. */
    Supplier<Uni<Boolean>> unlessIdle(Supplier<Uni<Boolean>> task, BooleanSupplier idle) {
        AtomicReference<@Nullable Idle> last = new AtomicReference<>();
        return () -> read().chain(commits -> {
            Idle before = last.get();
            long now = System.nanoTime();
            if (before != null && before.commits.equals(commits) && now - before.since < LONGEST.toNanos()) {
                return Uni.createFrom().item(false);
            }
            return task.get().invoke(more -> last.set(!more && idle.getAsBoolean() ? new Idle(commits, now) : null));
        });
    }

    private synchronized Uni<String> read() {
        long now = System.nanoTime();
        Uni<String> known = newest;
        if (known == null || now - readAt >= AGE.toNanos()) {
            readAt = now;
            known = READ_COMMITS
                    .execute(pool)
                    .map(rows -> rows.iterator().next().getString("commits"))
                    .memoize()
                    .indefinitely();
            newest = known;
        }
        return known;
    }
}
