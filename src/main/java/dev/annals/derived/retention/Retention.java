package dev.annals.derived.retention;

import dev.annals.derived.log.LogTree;
import dev.annals.derived.projection.ProjectionSteps;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Removes expired records of one database, in short transactions. {@code remove_expired()} in R__60_retention.sql decides which
 * records expire.
 *
 * <p>A round gives each project with a retention a turn of some transactions, until none has expired records left. Any number of instances
 * run rounds: a transaction holds the checkpoints of the project's projections, so one at a time removes, and the next continues where it
 * ended. A project whose removal fails waits for the next round.
 */
final class Retention {

    private static final Logger LOG = Logger.getLogger(Retention.class);
    private static final Sql FIND_RETAINED = Sql.named("derived/retention/find_retained");
    private static final Sql REMOVE_EXPIRED = Sql.named("derived/retention/remove_expired");
    private static final int PROJECTS = 1_000;
    /** The most transactions of a project in a row. */
    private static final int TURN = 20;
    /** A single append may have more. The rows stay locked for a second or less. */
    private static final int RECORDS = 2_000;
    /** Leaves the database to others. */
    private static final Duration PAUSE = Duration.ofMillis(50);
    /** Soon after the start, so that a service that restarts often removes records, too. */
    private static final long FIRST_LOOK_MILLIS = 60_000;

    private final Pool pool;
    private final Vertx vertx;
    private final ProjectionSteps projections;
    private final LogTree log;
    private final RetentionConfig config;
    private final int records;
    private final Counter removed;
    private final Set<UUID> failing = ConcurrentHashMap.newKeySet();
    private volatile int awaitingArchive;
    private volatile boolean looking;
    private volatile boolean stopped;
    private volatile long timer = -1;

    Retention(
            Database database,
            Vertx vertx,
            ProjectionSteps projections,
            LogTree log,
            RetentionConfig config,
            MeterRegistry metrics) {
        this(database, vertx, projections, log, config, RECORDS, metrics);
    }

    Retention(
            Database database,
            Vertx vertx,
            ProjectionSteps projections,
            LogTree log,
            RetentionConfig config,
            int records,
            MeterRegistry metrics) {
        this.pool = database.pool();
        this.vertx = vertx;
        this.projections = projections;
        this.log = log;
        this.config = config;
        this.records = records;
        this.removed = Counter.builder("annals.retention.removed.records")
                .description("Records that had expired, and were removed by this instance")
                .register(metrics);
        Gauge.builder("annals.retention.awaiting.archive", this, retention -> retention.awaitingArchive)
                .description("Projects with expired records that only wait for an archive, in the last round")
                .tag("database", database.name())
                .strongReference(true)
                .register(metrics);
        Gauge.builder("annals.retention.failing", failing, Set::size)
                .description("Projects whose expired records could not be removed in the last round")
                .tag("database", database.name())
                .strongReference(true)
                .register(metrics);
    }

    void start() {
        if (config.enabled()) {
            timer = vertx.setTimer(Math.min(FIRST_LOOK_MILLIS, config.interval().toMillis()), first -> {
                timer = vertx.setPeriodic(config.interval().toMillis(), tick -> tick());
                tick();
            });
        }
    }

    void stop() {
        stopped = true;
        vertx.cancelTimer(timer);
    }

    private void tick() {
        if (!looking) {
            looking = true;
            look().onTermination()
                    .invoke(() -> looking = false)
                    .subscribe()
                    .with(
                            done -> {},
                            failure -> LOG.debug(
                                    "Expired records cannot be searched for; the next round tries again", failure));
        }
    }

    Uni<Void> look() {
        return retained(null, new ArrayList<>(), 0).chain(this::turns);
    }

    private Uni<List<UUID>> retained(@Nullable UUID after, List<UUID> found, int awaiting) {
        return DatabaseFailure.retried(FIND_RETAINED
                        .bind("after", after)
                        .bind("projects", PROJECTS)
                        .execute(pool))
                .chain(rows -> {
                    int more = awaiting;
                    for (Row row : rows) {
                        found.add(row.getUUID("id"));
                        more += row.getBoolean("awaits_archive") ? 1 : 0;
                    }
                    if (rows.size() < PROJECTS) {
                        awaitingArchive = more;
                        return Uni.createFrom().item(found);
                    }
                    return retained(found.get(found.size() - 1), found, more);
                });
    }

    private Uni<Void> turns(List<UUID> projects) {
        if (projects.isEmpty()) {
            return Uni.createFrom().voidItem();
        }
        List<UUID> unfinished = new ArrayList<>();
        Uni<Void> round = Uni.createFrom().voidItem();
        for (UUID project : projects) {
            round = round.chain(() -> turn(project, TURN))
                    .invoke(done -> {
                        if (!done) {
                            unfinished.add(project);
                        }
                    })
                    .replaceWithVoid();
        }
        return round.chain(() -> turns(unfinished));
    }

    /** @return whether the project is done for this round */
    private Uni<Boolean> turn(UUID projectId, int transactions) {
        if (stopped) {
            return Uni.createFrom().item(true);
        }
        return remove(projectId)
                .invoke(gone -> {
                    removed.increment(gone);
                    failing.remove(projectId);
                })
                .chain(gone -> {
                    if (gone == 0 || transactions == 1) {
                        return Uni.createFrom().item(gone == 0);
                    }
                    return Uni.createFrom()
                            .voidItem()
                            .onItem()
                            .delayIt()
                            .by(PAUSE)
                            .chain(() -> turn(projectId, transactions - 1));
                })
                .onFailure()
                .recoverWithItem(failure -> failed(projectId, failure));
    }

    private boolean failed(UUID projectId, Throwable failure) {
        if (!ElsewhereException.isOf(failure) && failing.add(projectId)) {
            LOG.warnf(
                    failure, "Expired records of project %s cannot be removed; the next round tries again", projectId);
        }
        return true;
    }

    /**
     * Removes some of the oldest expired records of a project, in one transaction.
     *
     * @return the number of removed records; 0 if none was left
     */
    Uni<Long> remove(UUID projectId) {
        return DatabaseFailure.retried(Uni.createFrom()
                .deferred(() -> pool.withTransaction(connection -> {
                    Removal removal = new Removal(connection, projectId);
                    return projections
                            .removeFirst(connection, projectId, removal::run)
                            .map(horizon -> removal.count);
                })));
    }

    private final class Removal {

        private final SqlConnection connection;
        private final UUID projectId;
        private long count;

        Removal(SqlConnection connection, UUID projectId) {
            this.connection = connection;
            this.projectId = projectId;
        }

        /** @return the last removed sequence id; 0 if none was removed */
        Uni<Long> run() {
            return remove(null)
                    .chain(row -> row.getBoolean("needs_entries")
                            ? log.lastTileEntries(connection, projectId).chain(this::remove)
                            : Uni.createFrom().item(row))
                    .map(row -> {
                        count = row.getLong("removed");
                        return count == 0 ? 0L : row.getLong("horizon");
                    });
        }

        private Uni<Row> remove(@Nullable Buffer entries) {
            return REMOVE_EXPIRED
                    .bind("project_id", projectId)
                    .bind("most", records)
                    .bind("entries", entries)
                    .execute(connection)
                    .map(rows -> rows.iterator().next());
        }
    }
}
