package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.places.Places;
import dev.annals.core.feed.DatabaseReader.NotReachedException;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.memory.Reservation;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages from hot standbys if {@code annals.read-database-url} names any, otherwise from the primary.
 *
 * <p>A standby must have replayed the client's cursor, the sequence id that the client names, and the last append of this
 * instance to the feed; otherwise the page is read from the primary. A client never sees an older state than it has seen.
 *
 * <p>While standbys answer, each page tries them. After one that did not answer, only one request per {@link #RETRY_NANOS}
 * tries the standbys again. Safe for any thread.
 */
@ApplicationScoped
class StandbyReader implements FeedReader {

    private static final Logger LOG = Logger.getLogger(StandbyReader.class);
    private static final Sql READ_HEADS = Sql.named("core/feed/read_heads");
    private static final int MAX_PROJECTS = 100_000;
    /** A useful standby never lags by more. */
    private static final Duration REMEMBERED = Duration.ofMinutes(10);

    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final FeedReader primary;
    private final Places places;
    private final PerDatabase<Optional<Standbys>> databases;
    private final Counter fromStandby;
    private final Counter fromPrimary;

    private final Cache<UUID, Long> appended = newCache();

    StandbyReader(
            CachingReader primary,
            Places places,
            Databases databases,
            AnnalsConfig config,
            FeedIndex index,
            MeterRegistry metrics) {
        this.primary = primary;
        this.places = places;
        int size = config.database().readPoolSize();
        this.databases = new PerDatabase<>(
                databases,
                database -> database.openForStandbys(size).map(pool -> new Standbys(pool, index.readBy(pool))));
        this.fromStandby = metrics.counter("annals.feed.reads", "server", "standby");
        this.fromPrimary = metrics.counter("annals.feed.reads", "server", "primary");
    }

    private static Cache<UUID, Long> newCache() {
        return Caffeine.newBuilder()
                .maximumSize(MAX_PROJECTS)
                .expireAfterWrite(REMEMBERED)
                .build();
    }

    void start(@Observes StartupEvent event) {
        databases.all().forEach(standbys -> standbys.ifPresent(Standbys::check));
    }

    void appended(UUID projectId, long head) {
        if (standbys(projectId).isPresent()) {
            appended.asMap().merge(projectId, head, Math::max);
        }
    }

    private Optional<Standbys> standbys(UUID projectId) {
        return databases.of(places.of(projectId));
    }

    @Override
    public Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held) {
        return new Primary(primary, standbys(projectId)).read(projectId, query, held);
    }

    @Override
    public FeedReader in(Database database) {
        return new Primary(primary.in(database), databases.of(database));
    }

    /** A reader with the standbys that are tried first. */
    private record Primary(FeedReader reader, Optional<Standbys> standbys) implements FeedReader {

        @Override
        public Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held) {
            return standbys.isPresent()
                    ? standbys.get().read(reader, projectId, query, held)
                    : reader.read(projectId, query, held);
        }

        @Override
        public FeedReader in(Database database) {
            return reader.in(database);
        }
    }

    private long needed(UUID projectId, FeedQuery query) {
        Long own = appended.getIfPresent(projectId);
        return Math.max(query.newestSeen(), own == null ? 0 : own);
    }

    /** The hot standbys of one database. */
    private final class Standbys {

        private final Pool pool;
        private final DatabaseReader reader;
        private final Cache<UUID, Long> replayed = newCache();
        private final AtomicLong retryAt = new AtomicLong(System.nanoTime());
        private volatile boolean failing;

        Standbys(Pool pool, FeedIndex index) {
            this.pool = pool;
            this.reader = new DatabaseReader(pool, index);
        }

        void check() {
            pool.withConnection(connection -> connection.query("select 1").execute())
                    .subscribe()
                    .with(
                            answer -> {},
                            failure -> LOG.warnf(
                                    "No server of ANNALS_READ_DATABASE_URL can be used (%s). Pages are read from"
                                            + " ANNALS_DATABASE_URL until one answers.",
                                    failure.getMessage()));
        }

        Uni<FeedPage> read(FeedReader primary, UUID projectId, FeedQuery query, @Nullable Reservation held) {
            Supplier<Uni<FeedPage>> fallback = () -> {
                fromPrimary.increment();
                return primary.read(projectId, query, held);
            };
            if (failing && !mayRetry()) {
                return fallback.get();
            }
            return isReplayed(projectId, needed(projectId, query))
                    .chain(reached -> reached
                            ? reader.readIfReached(projectId, query, held).invoke(this::answered)
                            : fallback.get())
                    .onFailure(
                            failure -> failure instanceof NotReachedException || failure instanceof ElsewhereException)
                    .recoverWithUni(behind -> {
                        replayed.invalidate(projectId);
                        return fallback.get();
                    })
                    .onFailure(DatabaseFailure::isOutage)
                    .recoverWithUni(failure -> {
                        retryAt.set(System.nanoTime() + RETRY_NANOS);
                        failing = true;
                        return fallback.get();
                    });
        }

        private void answered() {
            failing = false;
            fromStandby.increment();
        }

        private boolean mayRetry() {
            long at = retryAt.get();
            long now = System.nanoTime();
            return now - at >= 0 && retryAt.compareAndSet(at, now + RETRY_NANOS);
        }

        private Uni<Boolean> isReplayed(UUID projectId, long needed) {
            Long known = replayed.getIfPresent(projectId);
            if (needed <= (known == null ? 0 : known)) {
                return Uni.createFrom().item(true);
            }
            return READ_HEADS
                    .bind("project_ids", new UUID[] {projectId})
                    .execute(pool)
                    .map(rows -> {
                        Row row = rows.iterator().next();
                        long head = row.getBoolean("here") ? row.getLong("head") : -1;
                        replayed.put(projectId, head);
                        return needed <= head;
                    });
        }
    }

    @PreDestroy
    void close() {
        databases.all().forEach(standbys -> standbys.ifPresent(one -> one.pool.closeAndForget()));
    }
}
