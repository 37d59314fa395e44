package dev.annals.core.feed;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jboss.logging.Logger;

/**
 * Ends sessions of plain SQL writers that hold the lock of a feed for too long while other sessions wait for it. It is off by
 * default, and needs a right that the operator grants.
 *
 * <p>It remembers the holders, because the sessions that wait give up before the limit. Several instances may run it: the
 * database checks again before it ends a session.
 */
@ApplicationScoped
public class FeedLockWatchdog {

    private static final Logger LOG = Logger.getLogger(FeedLockWatchdog.class);
    private static final Sql FIND_HOLDERS = Sql.named("core/feed/find_feed_lock_holders");
    private static final Sql END_HOLDER = Sql.named("core/feed/end_feed_lock_holder");
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    /** For a holder that itself waits for a feed's lock, so that the holder of that lock is ended first. */
    private static final int PATIENCE = 10;

    private final Duration limit;
    private final Counter ended;
    private final PerDatabase<Holders> databases;

    private record Holder(int pid, String transaction) {}

    FeedLockWatchdog(Databases databases, AnnalsConfig config, MeterRegistry metrics) {
        this.limit = config.database().lockHolderLimit();
        this.ended = Counter.builder("annals.feed.lock.ended.sessions")
                .description("Sessions that this instance ended because they held the lock of a feed for too long")
                .register(metrics);
        // All connections of the pool for writes may wait for the lock.
        this.databases = new PerDatabase<>(databases, database -> new Holders(database.polls()));
    }

    void start(@Observes StartupEvent event) {
        if (!limit.isZero()) {
            databases.all().forEach(holders -> holders.looks.start());
        }
    }

    void stop(@Observes ShutdownEvent event) {
        databases.all().forEach(holders -> holders.looks.stop());
    }

    /** The sessions of one database. */
    private final class Holders {

        private final Pool pool;
        private final PeriodicTask looks =
                new PeriodicTask(this::look, INTERVAL, INTERVAL, LOG, "Sessions that hold feeds");
        /** First seen, by {@link System#nanoTime}; no more than the database has sessions. */
        private volatile Map<Holder, Long> since = Map.of();

        private volatile boolean warned;

        Holders(Pool pool) {
            this.pool = pool;
        }

        private Uni<Boolean> look() {
            return FIND_HOLDERS
                    .bind(
                            "known",
                            since.keySet().stream().map(Holder::transaction).toArray(String[]::new))
                    .execute(pool)
                    .chain(this::endOverdue)
                    .replaceWith(false);
        }

        private Uni<Void> endOverdue(RowSet<Row> rows) {
            boolean allowed = isAllowed(rows.iterator().next());
            long now = System.nanoTime();
            Map<Holder, Long> seen = new HashMap<>();
            // A session has one row per feed that it holds, and another one if it is known.
            Map<Integer, Uni<Void>> overdue = new HashMap<>();
            for (Row row : rows) {
                Integer pid = row.getInteger("pid");
                if (pid != null) {
                    Holder holder = new Holder(pid, row.getString("transaction"));
                    long first = since.getOrDefault(holder, now);
                    long patience = limit.toNanos() * (row.getBoolean("is_waiting") ? PATIENCE : 1);
                    seen.put(holder, first);
                    if (allowed && row.getString("login") != null && now - first >= patience) {
                        overdue.put(pid, end(holder, row, Duration.ofNanos(now - first)));
                    }
                }
            }
            since = seen;
            return Multi.createFrom()
                    .iterable(overdue.values())
                    .onItem()
                    .transformToUniAndConcatenate(ending -> ending)
                    .collect()
                    .last();
        }

        private boolean isAllowed(Row row) {
            String missing = row.getString("missing");
            if (missing != null && !warned) {
                LOG.warnf(
                        "Sessions that hold the lock of a feed for longer than %s (ANNALS_DATABASE_LOCK_HOLDER_LIMIT) are not"
                                + " ended: the owner of the schema may not. As a superuser: grant %s to %s",
                        limit, missing, row.getString("owner"));
            }
            warned = missing != null;
            return !warned;
        }

        private Uni<Void> end(Holder holder, Row row, Duration held) {
            return END_HOLDER
                    .bind("pid", holder.pid())
                    .bind("transaction", holder.transaction())
                    .bind("seconds", held.toNanos() / 1e9)
                    .execute(pool)
                    .invoke(rows -> {
                        if (rows.iterator().next().getBoolean("ended")) {
                            ended.increment();
                            LOG.warnf(
                                    "Ended session %d of role %s: it held the lock of the feed of project %s for %d seconds at least",
                                    holder.pid(), row.getString("login"), row.getUUID("project_id"), held.toSeconds());
                        }
                    })
                    .replaceWithVoid();
        }
    }
}
