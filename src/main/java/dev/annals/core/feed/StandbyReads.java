package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ServicePool;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages of feeds from hot standbys, if {@code annals.read-database-url} names any. A standby may be behind. What a reader is
 * known to have seen, it sees again: if the standby has not come as far as the reader's cursor, as the sequence id that the reader
 * names, or as what was appended to the feed by way of this instance, the page comes from the primary. It comes from there, too,
 * while no standby answers.
 *
 * <p>Safe for any thread.
 */
@ApplicationScoped
public class StandbyReads {

    private static final Logger LOG = Logger.getLogger(StandbyReads.class);
    private static final Sql READ_HEADS = Sql.named("core/feed/read_heads");
    private static final int KNOWN = 100_000;
    /** No standby that is of use is behind by more. */
    private static final Duration KEPT = Duration.ofMinutes(10);

    private static final long REST_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final @Nullable Pool pool;
    private final @Nullable FeedReader standby;
    private final Counter fromStandby;
    private final Counter fromPrimary;

    /** What was appended by way of this instance, by project. */
    private final Cache<UUID, Long> appended =
            Caffeine.newBuilder().maximumSize(KNOWN).expireAfterWrite(KEPT).build();

    /** How far the standby has come, by project; it comes further. */
    private final Cache<UUID, Long> replayed =
            Caffeine.newBuilder().maximumSize(KNOWN).expireAfterWrite(KEPT).build();

    /** When a standby may be asked again. */
    private final AtomicLong askedAgainAt = new AtomicLong(System.nanoTime());

    private volatile boolean failing;

    StandbyReads(Pool writes, ServicePool pools, AnnalsConfig config, FeedIndex index, MeterRegistry metrics) {
        // A call makes the default pool, of which the others are made.
        writes.size();
        this.pool = config.readDatabaseUrl().isPresent()
                ? pools.openForStandbys(config.database().readPoolSize())
                : null;
        this.standby = pool == null ? null : FeedReader.ofStandby(pool, index.readBy(pool));
        this.fromStandby = metrics.counter("annals.feed.reads", "server", "standby");
        this.fromPrimary = metrics.counter("annals.feed.reads", "server", "primary");
    }

    void start(@Observes StartupEvent event) {
        if (pool != null) {
            pool.withConnection(connection -> connection.query("select 1").execute())
                    .subscribe()
                    .with(
                            answer -> {},
                            failure -> LOG.warnf(
                                    "No server of ANNALS_READ_DATABASE_URL can be used (%s). Pages are read from"
                                            + " ANNALS_DATABASE_URL until one answers.",
                                    failure.getMessage()));
        }
    }

    /** Records were appended by way of this instance, up to this sequence id. */
    public void appended(UUID projectId, long head) {
        if (standby != null) {
            appended.asMap().merge(projectId, head, Math::max);
        }
    }

    /**
     * Reads from a standby where it will do, otherwise from the primary.
     *
     * @param seen the sequence id up to which the answer has to see the feed; 0 if anything will do
     */
    <T> Uni<T> read(UUID projectId, long seen, Function<FeedReader, Uni<T>> reads, Supplier<Uni<T>> primary) {
        FeedReader reader = standby;
        if (reader == null) {
            return primary.get();
        }
        if (failing && !mayAskAgain()) {
            return primary(primary);
        }
        Long own = appended.getIfPresent(projectId);
        long needed = Math.max(seen, own == null ? 0 : own);
        return hasCome(projectId, needed)
                .chain(far -> far ? reads.apply(reader).invoke(this::answered) : primary(primary))
                .onFailure(FeedReader.StandbyBehindException.class)
                .recoverWithUni(behind -> {
                    replayed.invalidate(projectId);
                    return primary(primary);
                })
                .onFailure(DatabaseFailure::isOutage)
                .recoverWithUni(failure -> {
                    askedAgainAt.set(System.nanoTime() + REST_NANOS);
                    failing = true;
                    return primary(primary);
                });
    }

    private <T> Uni<T> primary(Supplier<Uni<T>> read) {
        fromPrimary.increment();
        return read.get();
    }

    private void answered() {
        failing = false;
        fromStandby.increment();
    }

    /** One request per interval finds out whether a standby is there again. */
    private boolean mayAskAgain() {
        long at = askedAgainAt.get();
        long now = System.nanoTime();
        return now - at >= 0 && askedAgainAt.compareAndSet(at, now + REST_NANOS);
    }

    private Uni<Boolean> hasCome(UUID projectId, long needed) {
        Long known = replayed.getIfPresent(projectId);
        if (needed <= (known == null ? 0 : known)) {
            return Uni.createFrom().item(true);
        }
        return READ_HEADS
                .bind("project_ids", new UUID[] {projectId})
                .execute(pool())
                .map(rows -> {
                    long head = rows.iterator().next().getLong("head");
                    replayed.put(projectId, head);
                    return needed <= head;
                });
    }

    private Pool pool() {
        Pool there = pool;
        if (there == null) {
            throw new IllegalStateException("no standby is named");
        }
        return there;
    }

    @PreDestroy
    void close() {
        if (pool != null) {
            pool.closeAndForget();
        }
    }
}
