package dev.annals.derived.projection;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Finds projects of one database in which a projection is behind, and moves it forward by {@link ProjectionSteps}. Any number of
 * instances run one.
 *
 * <p>A scan is one query over the next projects and over those of {@link RecentProjects}. A round of scans covers all projects. After each
 * scan, the projector works on what this scan and the one before left to do:
 *
 * <ul>
 *   <li>Projects with few missing records share a step. If it fails, each gets a step of its own.
 *   <li>A project with more gets at most {@link Pace#steps} steps before the others have their turn.
 *   <li>A project whose step fails is skipped until its back-off is over.
 * </ul>
 */
public final class Projector {

    /** The most records of a step: enough to outweigh its statements, few enough to lock the checkpoint for less than a second. */
    public static final int RECORDS = 1_000;

    private static final Logger LOG = Logger.getLogger(Projector.class);
    private static final Sql FIND_LAGGING = Sql.named("derived/projection/find_lagging");
    /** Projects beyond so many failures are tried again after every scan. */
    private static final int MAX_FAILURES = 10_000;
    /** Within a round, the ratio of pauses to scans. */
    private static final int PAUSES = 19;

    private static final int PROJECTS_TOGETHER = 64;
    private static final int FEW_RECORDS = 256;
    /** Transient failures in a row before one is logged. */
    private static final int PASSING_FAILURES = 3;

    /**
     * The timing of the work.
     *
     * @param interval from a scan that found nothing to the next round
     * @param projects the most projects of one scan, whose query then takes milliseconds; recent ones are added
     * @param steps the most steps of one project in a row
     * @param retryDelay the back-off after a failure; it doubles after each further one
     */
    record Pace(Duration interval, int projects, int steps, Duration retryDelay, Duration maxRetryDelay) {

        static final Pace OF_THE_SERVICE =
                new Pace(Duration.ofSeconds(1), 1_000, 8, Duration.ofSeconds(1), Duration.ofMinutes(5));
    }

    private final Pool pool;
    private final Pool polls;
    private final ProjectionSteps steps;
    private final Map<String, Projection> projections;
    private final boolean enabled;
    private final Pace pace;
    private final PeriodicTask loop;
    private final RecentProjects recent;
    private final ProjectionLag lag;
    private final Map<Target, Failure> failures = new ConcurrentHashMap<>();

    // Only one scan runs at a time.
    /** Null if the next scan begins a round. */
    private volatile @Nullable UUID after;

    private volatile boolean oneScanIsARound;
    private volatile boolean idle;
    private volatile Map<Target, Backlog> unfinished = Map.of();

    static Projector of(Database database, ProjectionSteps steps, ProjectionConfig config, MeterRegistry metrics) {
        Projector projector = new Projector(database, steps, config.enabled(), Pace.OF_THE_SERVICE, System::nanoTime);
        ProjectionLag lag = projector.lag;
        Tags tags = Tags.of("database", database.name());
        projector.names().forEach(name -> {
            gauge(metrics, "lag.records", "Records not taken in yet", name, tags, lag::records);
            gauge(metrics, "lag.seconds", "For how long records are missing", name, tags, lag::seconds);
            gauge(metrics, "failing", "Projects whose last step failed here", name, tags, projector::failing);
        });
        return projector;
    }

    Projector(Database database, ProjectionSteps steps, boolean enabled, Pace pace, LongSupplier nanoTime) {
        this.pool = database.reads();
        this.polls = database.polls();
        this.steps = steps;
        this.projections =
                steps.projections().stream().collect(Collectors.toMap(Projection::name, Function.identity()));
        this.enabled = enabled;
        this.pace = pace;
        this.recent = new RecentProjects(polls);
        this.lag = new ProjectionLag(nanoTime);
        this.loop = new PeriodicTask(
                database.unlessIdle(this::scanAndPause, () -> idle),
                pace.interval(),
                pace.retryDelay(),
                LOG,
                "Projections");
    }

    private static void gauge(
            MeterRegistry metrics,
            String name,
            String description,
            String projection,
            Tags tags,
            ToDoubleFunction<String> value) {
        Gauge.builder("annals.projection." + name, projection, value)
                .description(description)
                .tags(tags)
                .tag("projection", projection)
                .strongReference(true)
                .register(metrics);
    }

    private record Target(Projection projection, UUID projectId) {}

    /**
     * Missing records, as a scan saw them. Later records wait for the next scan.
     *
     * @param step the fewest records that the projection indexes
     */
    private record Backlog(Target target, long records, int step) {

        /** Empty if the step indexed nothing, or if the projection waits for more records. */
        List<Backlog> after(Map<UUID, Long> taken) {
            long done = taken.getOrDefault(target.projectId(), 0L);
            return done == 0 || records - done < step ? List.of() : List.of(new Backlog(target, records - done, step));
        }
    }

    private record Failure(int count, long until) {}

    /** Counts projects in which the last step failed on this instance. */
    long failing(String projection) {
        return failures.keySet().stream()
                .filter(target -> target.projection().name().equals(projection))
                .count();
    }

    ProjectionLag lag() {
        return lag;
    }

    boolean atEnd() {
        return after == null;
    }

    List<String> names() {
        return steps.projections().stream().map(Projection::name).toList();
    }

    void start() {
        if (enabled) {
            loop.start();
        }
    }

    void stop() {
        loop.stop();
    }

    /** As {@link Projectors#advance}. */
    Uni<Void> advance(String name, UUID projectId) {
        Projection projection = projections.get(name);
        if (!enabled || loop.stopped() || projection == null) {
            return Uni.createFrom().voidItem();
        }
        return work(new Backlog(new Target(projection, projectId), Long.MAX_VALUE, 1), pace.steps())
                .replaceWithVoid();
    }

    /**
     * Scans, and pauses for a short time if the round has more projects.
     *
     * @return whether to scan again without waiting for the interval
     */
    Uni<Boolean> scanAndPause() {
        long began = System.nanoTime();
        return scan().chain(more -> more || atEnd()
                ? Uni.createFrom().item(more)
                : Uni.createFrom()
                        .item(true)
                        .onItem()
                        .delayIt()
                        .by(PeriodicTask.pause(PAUSES, began, pace.interval())));
    }

    /**
     * Scans the next projects, and works on those that are behind.
     *
     * @return whether some projects may have more records to index
     */
    Uni<Boolean> scan() {
        return (oneScanIsARound ? Uni.createFrom().item(RecentProjects.Found.NOTHING) : recent.read())
                .chain(recently -> FIND_LAGGING
                        .bind("after", after)
                        .bind("projects", pace.projects())
                        .bind("recent", recently.projectIds().toArray(UUID[]::new))
                        .bind("projections", names().toArray(String[]::new))
                        .execute(polls)
                        .map(this::backlogs)
                        .chain(this::workOn)
                        .map(unfinished -> unfinished || recently.more()));
    }

    private List<Backlog> backlogs(RowSet<Row> rows) {
        Map<Target, Backlog> found = new LinkedHashMap<>();
        boolean beginsRound = after == null;
        if (beginsRound) {
            lag.beginRound();
        }
        for (Row row : rows) {
            Projection projection =
                    row.getString("projection") == null ? null : projections.get(row.getString("projection"));
            UUID projectId = row.getUUID("project_id");
            if (projection == null) {
                after = projectId;
            } else {
                long records = row.getLong("lag");
                lag.report(projection.name(), projectId, row.getLong("head"), records, row.getBoolean("in_part"));
                Target target = new Target(projection, projectId);
                found.put(target, new Backlog(target, records, row.getInteger("step")));
            }
        }
        oneScanIsARound = beginsRound && after == null;
        if (after == null) {
            lag.endRound();
        }
        unfinished.forEach(found::putIfAbsent);
        idle = oneScanIsARound && found.isEmpty();
        return List.copyOf(found.values());
    }

    private Uni<Boolean> workOn(List<Backlog> backlogs) {
        return inTurn(batches(backlogs), this::work).map(left -> {
            unfinished = left.stream()
                    .limit(pace.projects())
                    .collect(Collectors.toMap(
                            Backlog::target, Function.identity(), (first, second) -> first, LinkedHashMap::new));
            return !unfinished.isEmpty();
        });
    }

    private List<List<Backlog>> batches(List<Backlog> backlogs) {
        List<List<Backlog>> batches = new ArrayList<>();
        Map<Projection, Batch> open = new HashMap<>();
        for (Backlog backlog : backlogs) {
            if (backlog.records() > FEW_RECORDS || failures.containsKey(backlog.target())) {
                batches.add(List.of(backlog));
                continue;
            }
            Projection projection = backlog.target().projection();
            Batch batch = open.get(projection);
            if (batch == null || !batch.fits(backlog)) {
                batch = new Batch();
                open.put(projection, batch);
                batches.add(batch.backlogs);
            }
            batch.add(backlog);
        }
        return batches;
    }

    private static final class Batch {
        final List<Backlog> backlogs = new ArrayList<>();
        private long records;

        boolean fits(Backlog next) {
            return backlogs.size() < PROJECTS_TOGETHER && records + next.records() <= RECORDS;
        }

        void add(Backlog next) {
            backlogs.add(next);
            records += next.records();
        }
    }

    private Uni<List<Backlog>> work(List<Backlog> batch) {
        if (loop.stopped()) {
            return Uni.createFrom().item(List.of());
        }
        if (batch.size() == 1) {
            return work(batch.get(0), pace.steps());
        }
        return steps.take(
                        pool,
                        batch.get(0).target().projection(),
                        batch.stream()
                                .map(backlog -> backlog.target().projectId())
                                .toList())
                .map(taken -> batch.stream()
                        .flatMap(backlog -> backlog.after(taken).stream())
                        .toList())
                .onFailure()
                .recoverWithUni(() -> inTurn(batch, backlog -> work(backlog, pace.steps())));
    }

    private Uni<List<Backlog>> work(Backlog backlog, int stepsLeft) {
        Target target = backlog.target();
        Failure before = failures.get(target);
        if (loop.stopped() || (before != null && System.nanoTime() - before.until() < 0)) {
            return Uni.createFrom().item(List.of());
        }
        return steps.take(pool, target.projection(), List.of(target.projectId()))
                .invoke(() -> failures.remove(target))
                .chain(taken -> {
                    List<Backlog> left = backlog.after(taken);
                    return stepsLeft > 1 && !left.isEmpty()
                            ? work(left.get(0), stepsLeft - 1)
                            : Uni.createFrom().item(left);
                })
                .onFailure()
                .recoverWithItem(failure -> failed(target, failure));
    }

    private List<Backlog> failed(Target target, Throwable failure) {
        if (ElsewhereException.isOf(failure)) {
            // The project moves. No scan finds it until it is here.
            return List.of();
        }
        Failure before = failures.get(target);
        int count = before == null ? 1 : before.count() + 1;
        long delay = DatabaseFailure.backOff(pace.retryDelay(), pace.maxRetryDelay(), count - 1)
                .toNanos();
        // Jitter, so that instances do not retry at one moment.
        delay += ThreadLocalRandom.current().nextLong(delay / 4 + 1);
        if (before != null || failures.size() < MAX_FAILURES) {
            failures.put(target, new Failure(count, System.nanoTime() + delay));
        }
        if (count == (DatabaseFailure.isTransient(failure) ? PASSING_FAILURES : 1)) {
            LOG.warnf(
                    failure,
                    "The projection %s of project %s is stuck; it is retried from time to time",
                    target.projection().name(),
                    target.projectId());
        }
        return List.of();
    }

    private static <T> Uni<List<Backlog>> inTurn(List<T> all, Function<T, Uni<List<Backlog>>> each) {
        return Multi.createFrom()
                .iterable(all)
                .onItem()
                .transformToUniAndConcatenate(each::apply)
                .collect()
                .asList()
                .map(lists -> lists.stream().flatMap(List::stream).toList());
    }
}
