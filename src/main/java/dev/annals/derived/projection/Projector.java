package dev.annals.derived.projection;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.RepeatedLook;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.arc.All;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Runs the projections: looks for projects that are behind, and brings them forward step by step, one transaction per step. Projects that
 * are a few records behind share a step, because its own statements cost more than a few records do.
 *
 * <p>Any number of instances may do so at once. A step locks its checkpoints' rows, and skips those that are locked elsewhere. A
 * checkpoint moves in the transaction that writes what was derived, so each record counts once, whatever breaks. A look is
 * one query over the heads and the checkpoints of a bounded number of projects; the next look continues behind them, and with
 * what this one did not finish: a busy project does not wait until all others have been looked at. Nor does one that has just got
 * records, see {@link RecentProjects}. A project whose step fails is left alone for a while, longer each time, and hinders no
 * other: those that shared a step with it are taken one by one.
 */
@ApplicationScoped
public class Projector {

    /**
     * How many records one step takes in at most, unless the projection says otherwise: enough to make its own statements cheap, and few
     * enough to release the checkpoint's row within a second.
     */
    public static final int RECORDS = 1_000;

    private static final Logger LOG = Logger.getLogger(Projector.class);
    private static final Sql FIND_LAGGING = Sql.named("derived/projection/find_lagging");
    private static final Sql BEGIN_PROJECTION = Sql.named("derived/projection/begin_projection");
    private static final Sql HOLD_CHECKPOINT = Sql.named("derived/projection/hold_checkpoint");
    private static final Sql LOCK_CHECKPOINT = Sql.named("derived/projection/lock_checkpoint");
    private static final Sql MOVE_CHECKPOINT = Sql.named("derived/projection/move_checkpoint");
    /** How many failures are remembered; a project beyond that is tried again at every look. */
    private static final int MAX_FAILURES = 10_000;
    /** For how many projects it is known since when they are behind. Others do not count in the lag's seconds. */
    private static final int MAX_BEHIND = 10_000;
    /** Of the time that the looks of a round take, the pauses between them are so many times. */
    private static final int PAUSES = 19;
    /** How many projects share a step at most. */
    private static final int PROJECTS_TOGETHER = 64;
    /** How far behind a project is at most that shares a step. */
    private static final int FEW_RECORDS = 256;
    /** A broken connection or a missed lock is only logged after this many failures in a row. */
    private static final int PASSING_FAILURES = 3;

    /**
     * The order and the pauses of the work.
     *
     * @param interval between a look that found nothing new and the next one: statistics may be that old, and an idle service asks the
     *     database no more often
     * @param projects how many projects one look covers, besides those that have just got records: its query takes milliseconds then
     * @param steps how many steps a project that is behind takes before the others have their turn
     * @param retryDelay how long a project is left alone after a failure; the time doubles after each further one
     * @param maxRetryDelay the longest such time, so that a cause that is gone is noticed within minutes
     */
    record Pace(Duration interval, int projects, int steps, Duration retryDelay, Duration maxRetryDelay) {

        static final Pace OF_THE_SERVICE =
                new Pace(Duration.ofSeconds(1), 1_000, 8, Duration.ofSeconds(1), Duration.ofMinutes(5));
    }

    private final Pool pool;
    private final Map<String, Projection> projections;
    private final boolean enabled;
    private final Pace pace;
    private final Map<Target, Failure> failures = new ConcurrentHashMap<>();
    private final Map<String, Lag> lags = new ConcurrentHashMap<>();
    private final RepeatedLook looks;
    private final RecentProjects recent;

    // Where the next look begins, and what the looks since the first project have found. Only one look runs at a time.
    private volatile @Nullable UUID after;
    private volatile Map<String, Long> found = Map.of();
    private volatile long roundBegan = System.nanoTime();
    /** Whether one look takes all projects. */
    private volatile boolean oneLookIsARound;
    /** What a look has left behind when its steps were taken. It is no more than a look may find. */
    private volatile Map<Target, Lagging> unfinished = Map.of();

    private final Map<Target, Behind> behind = new ConcurrentHashMap<>();

    @Inject
    Projector(@Reads Pool pool, @All List<Projection> projections, ProjectionConfig config, MeterRegistry metrics) {
        this(pool, projections, config.enabled(), Pace.OF_THE_SERVICE);
        projections.forEach(projection -> register(projection, metrics));
    }

    /** An instance that {@link #look} drives. */
    Projector(Pool pool, List<Projection> projections, boolean enabled, Pace pace) {
        this.pool = pool;
        this.projections = projections.stream().collect(Collectors.toMap(Projection::name, Function.identity()));
        this.enabled = enabled;
        this.pace = pace;
        this.recent = new RecentProjects(pool);
        this.looks = new RepeatedLook(this::lookOn, pace.interval(), pace.retryDelay(), LOG, "Projections");
        projections.forEach(projection -> lags.put(projection.name(), new Lag(0, System.nanoTime())));
    }

    /** A projection of one project. */
    private record Target(Projection projection, UUID projectId) {}

    /** What a look has found: how many records a target is behind; it takes in at least {@code step} of them at a time. */
    private record Lagging(Target target, long records, int step) {

        /** What is left when so many records have been taken in; nothing where there is nothing to do about it at once. */
        List<Lagging> without(long taken) {
            return taken == 0 || records - taken < step
                    ? List.of()
                    : List.of(new Lagging(target, records - taken, step));
        }
    }

    /** A series of failures; the target is left alone until {@link System#nanoTime} reaches {@code until}. */
    private record Failure(int count, long until) {}

    /**
     * How many records were missing when all projects had been looked at, and since when the one that has been missing for
     * the longest time has, by {@link System#nanoTime}.
     */
    private record Lag(long records, long since) {}

    /** Up to this head of its feed a target has not taken all in since then; a look saw that last at {@code seen}. */
    private record Behind(long head, long since, long seen) {

        /** What a look shows: where all that was missing is in, the rest is newer than the look before. */
        Behind seenAgain(long newHead, long taken, long now) {
            return taken < head ? new Behind(head, since, now) : new Behind(newHead, seen, now);
        }
    }

    /** A checkpoint that this transaction holds. */
    private record Checkpoint(UUID projectId, long sequenceId, int generation, boolean outdated) {

        /** The last record that has been taken in, in this generation. */
        long from() {
            return outdated ? 0 : sequenceId;
        }

        long taken(Map<UUID, Long> to) {
            return to.getOrDefault(projectId, from()) - from();
        }
    }

    private void register(Projection projection, MeterRegistry metrics) {
        gauge(metrics, "annals.projection.lag.records", "Records not taken in yet", projection, this::missing);
        gauge(
                metrics,
                "annals.projection.lag.seconds",
                "For how long records are missing",
                projection,
                this::lagSeconds);
        gauge(metrics, "annals.projection.failing", "Projects whose last step failed here", projection, this::failing);
    }

    private static void gauge(
            MeterRegistry metrics,
            String name,
            String description,
            Projection projection,
            ToDoubleFunction<String> value) {
        Gauge.builder(name, projection.name(), value)
                .description(description)
                .tag("projection", projection.name())
                .strongReference(true)
                .register(metrics);
    }

    private Lag lag(String name) {
        return lags.getOrDefault(name, new Lag(0, System.nanoTime()));
    }

    /** For how long the record has been missing that a projection has not taken in for the longest time. */
    double lagSeconds(String name) {
        Lag lag = lag(name);
        return lag.records() == 0 ? 0 : (System.nanoTime() - lag.since()) / 1e9;
    }

    /** In how many projects a projection's last step failed on this instance. */
    long failing(String name) {
        return failures.keySet().stream()
                .filter(target -> target.projection().name().equals(name))
                .count();
    }

    /** How many records a projection was missing when the last project had been looked at. */
    long missing(String name) {
        return lag(name).records();
    }

    /** Whether the last look was at the last project, so that the next one begins at the first. */
    boolean atEnd() {
        return after == null;
    }

    /** The names of the projections. */
    List<String> names() {
        return projections.keySet().stream().sorted().toList();
    }

    void start(@Observes StartupEvent event) {
        if (enabled) {
            looks.start();
        }
    }

    void stop(@Observes ShutdownEvent event) {
        looks.stop();
    }

    /**
     * Looks, and again soon where there are more projects: each of very many waits for a whole round. Where nothing is behind, looks
     * take a twentieth of the time at most.
     *
     * @return whether to look on at once
     */
    Uni<Boolean> lookOn() {
        long began = System.nanoTime();
        return look().chain(more -> more || atEnd()
                ? Uni.createFrom().item(more)
                : Uni.createFrom()
                        .item(true)
                        .onItem()
                        .delayIt()
                        .by(RepeatedLook.pause(PAUSES, began, pace.interval())));
    }

    /**
     * Looks at the next projects, and brings forward those that are behind.
     *
     * @return whether any of them may have more to take in
     */
    Uni<Boolean> look() {
        return (oneLookIsARound ? Uni.createFrom().item(RecentProjects.Found.NOTHING) : recent.read())
                .chain(recently -> FIND_LAGGING
                        .bind("after", after)
                        .bind("projects", pace.projects())
                        .bind("recent", recently.projectIds().toArray(UUID[]::new))
                        .bind("projections", names().toArray(String[]::new))
                        .execute(pool)
                        .map(this::lagging)
                        .map(this::withUnfinished)
                        .chain(this::inTurn)
                        .map(unfinished -> unfinished || recently.more()));
    }

    /** What was found comes first: it has the newer heads. */
    private List<Lagging> withUnfinished(List<Lagging> found) {
        Map<Target, Lagging> all = new LinkedHashMap<>();
        found.forEach(lagging -> all.put(lagging.target(), lagging));
        unfinished.forEach(all::putIfAbsent);
        return List.copyOf(all.values());
    }

    private List<Lagging> lagging(RowSet<Row> rows) {
        List<Lagging> lagging = new ArrayList<>();
        Map<String, Long> missing = new HashMap<>(found);
        long now = System.nanoTime();
        boolean begins = after == null;
        if (begins) {
            roundBegan = now;
        }
        for (Row row : rows) {
            Projection projection =
                    row.getString("projection") == null ? null : projections.get(row.getString("projection"));
            if (projection == null) {
                after = row.getUUID("project_id");
            } else {
                long records = row.getLong("lag");
                Target target = new Target(projection, row.getUUID("project_id"));
                lagging.add(new Lagging(target, records, row.getInteger("step")));
                noteBehind(target, row.getLong("head"), records, now);
                if (row.getBoolean("in_part")) {
                    missing.merge(projection.name(), records, Long::sum);
                }
            }
        }
        found = missing;
        oneLookIsARound = begins && after == null;
        if (after == null) {
            publish(missing);
        }
        return lagging;
    }

    private void noteBehind(Target target, long head, long records, long now) {
        Behind before = behind.get(target);
        if (before != null) {
            behind.put(target, before.seenAgain(head, head - records, now));
        } else if (behind.size() < MAX_BEHIND) {
            behind.put(target, new Behind(head, now, now));
        }
    }

    private void publish(Map<String, Long> missing) {
        found = Map.of();
        behind.values().removeIf(target -> target.seen() - roundBegan < 0);
        lags.replaceAll((name, lag) -> new Lag(missing.getOrDefault(name, 0L), behindSince(name)));
    }

    private long behindSince(String name) {
        long now = System.nanoTime();
        return now
                - behind.entrySet().stream()
                        .filter(entry -> entry.getKey().projection().name().equals(name))
                        .mapToLong(entry -> now - entry.getValue().since())
                        .max()
                        .orElse(0);
    }

    private Uni<Boolean> inTurn(List<Lagging> lagging) {
        return inTurn(parts(lagging), part -> looks.stopped() ? Uni.createFrom().item(List.of()) : takeOn(part))
                .map(this::keepUnfinished);
    }

    /** What shares a transaction, and in parts of one what does not. */
    private List<List<Lagging>> parts(List<Lagging> lagging) {
        List<List<Lagging>> parts = new ArrayList<>();
        Map<Projection, Together> open = new HashMap<>();
        for (Lagging behind : lagging) {
            if (behind.records() > FEW_RECORDS || failures.containsKey(behind.target())) {
                parts.add(List.of(behind));
                continue;
            }
            Projection projection = behind.target().projection();
            Together together = open.get(projection);
            if (together == null || !together.add(behind, RECORDS)) {
                together = new Together(behind);
                open.put(projection, together);
                parts.add(together.all);
            }
        }
        return parts;
    }

    /** Projects that share a transaction of a projection. */
    private static final class Together {
        final List<Lagging> all = new ArrayList<>();
        private long records;

        Together(Lagging first) {
            all.add(first);
            records = first.records();
        }

        boolean add(Lagging next, int mostRecords) {
            if (all.size() == PROJECTS_TOGETHER || records + next.records() > mostRecords) {
                return false;
            }
            records += next.records();
            return all.add(next);
        }
    }

    private boolean keepUnfinished(List<List<Lagging>> left) {
        unfinished = left.stream()
                .flatMap(List::stream)
                .limit(pace.projects())
                .collect(Collectors.toMap(
                        Lagging::target, Function.identity(), (first, second) -> first, LinkedHashMap::new));
        return !unfinished.isEmpty();
    }

    /**
     * Brings one projection of a project forward now, by a bounded number of steps: for those who do not want to wait for the
     * next look. Does nothing where this instance does no such work, where another one is at it, or after a failure. Never
     * fails.
     */
    public Uni<Void> advance(String name, UUID projectId) {
        Projection projection = projections.get(name);
        if (!enabled || looks.stopped() || projection == null) {
            return Uni.createFrom().voidItem();
        }
        return takeOn(List.of(new Lagging(new Target(projection, projectId), Long.MAX_VALUE, 1)))
                .replaceWithVoid();
    }

    /**
     * Changes a record that projections may have taken in, and what they have derived from it, in the caller's transaction. It takes
     * the checkpoints of all of the project's projections, in one order for everybody, and waits for whoever has them: so changes
     * of a project follow one another.
     *
     * @param sequenceId of the record
     * @param change of the record
     */
    public <T> Uni<T> around(SqlConnection connection, UUID projectId, long sequenceId, Supplier<Uni<T>> change) {
        List<Target> targets =
                names().stream().map(name -> target(name, projectId)).toList();
        return inTurn(targets, target -> hold(connection, target))
                .map(checkpoints -> IntStream.range(0, targets.size())
                        .filter(at -> checkpoints.get(at) >= sequenceId)
                        .mapToObj(at -> targets.get(at).projection())
                        .toList())
                .chain(taken -> inTurn(
                                taken,
                                projection -> projection
                                        .takeBack(connection, projectId, sequenceId)
                                        .replaceWith(true))
                        .chain(change::get)
                        .call(changed -> inTurn(
                                taken,
                                projection -> projection
                                        .takeAgain(connection, projectId, sequenceId)
                                        .replaceWith(true))));
    }

    /**
     * Runs a change that removes the first records of a feed, within the caller's transaction. No step of a projection of the project is
     * taken meanwhile, here or elsewhere.
     *
     * @param removal gives up to where records are gone then; 0 if none went
     */
    public Uni<Long> aroundRemoval(SqlConnection connection, UUID projectId, Supplier<Uni<Long>> removal) {
        List<Target> targets =
                names().stream().map(name -> target(name, projectId)).toList();
        return inTurn(targets, target -> hold(connection, target))
                .chain(checkpoints -> removal.get()
                        .call(horizon -> horizon == 0
                                ? Uni.createFrom().voidItem()
                                : inTurn(
                                        IntStream.range(0, targets.size())
                                                .filter(at -> checkpoints.get(at) > horizon)
                                                .mapToObj(at -> targets.get(at).projection())
                                                .toList(),
                                        projection -> projection
                                                .expired(connection, projectId, horizon)
                                                .replaceWith(true))));
    }

    private Target target(String name, UUID projectId) {
        return new Target(Objects.requireNonNull(projections.get(name)), projectId);
    }

    private static Uni<Long> hold(SqlConnection connection, Target target) {
        return begin(connection, target.projection(), List.of(target.projectId()))
                .chain(() -> HOLD_CHECKPOINT
                        .bind("project_id", target.projectId())
                        .bind("projection", target.projection().name())
                        .execute(connection))
                .map(rows -> rows.iterator().next().getLong("sequence_id"));
    }

    private static <T, R> Uni<List<R>> inTurn(List<T> all, Function<T, Uni<R>> each) {
        return Multi.createFrom()
                .iterable(all)
                .onItem()
                .transformToUniAndConcatenate(each::apply)
                .collect()
                .asList();
    }

    // No further than the look saw: what has come since then waits for the next look, which finds more to take in at
    // once.
    // @return what is left for the next look; nothing where there is nothing to do about it at once
    private Uni<List<Lagging>> takeOn(List<Lagging> part) {
        if (part.size() == 1) {
            return takeOn(part.get(0), pace.steps());
        }
        Projection projection = part.get(0).target().projection();
        List<UUID> projectIds =
                part.stream().map(behind -> behind.target().projectId()).toList();
        return step(projection, projectIds)
                .map(taken -> part.stream()
                        .flatMap(behind -> behind
                                .without(taken.getOrDefault(behind.target().projectId(), 0L))
                                .stream())
                        .toList())
                .onFailure()
                // One of them hinders the others. Taken by itself, it is left alone for a while.
                .recoverWithUni(() -> inTurn(part, behind -> takeOn(behind, pace.steps()))
                        .map(left -> left.stream().flatMap(List::stream).toList()));
    }

    private Uni<List<Lagging>> takeOn(Lagging behind, int steps) {
        Target target = behind.target();
        Failure before = failures.get(target);
        if (looks.stopped() || (before != null && System.nanoTime() - before.until() < 0)) {
            return Uni.createFrom().item(List.of());
        }
        return step(target.projection(), List.of(target.projectId()))
                .invoke(() -> failures.remove(target))
                .chain(taken -> {
                    List<Lagging> left = behind.without(taken.getOrDefault(target.projectId(), 0L));
                    return steps > 1 && !left.isEmpty()
                            ? takeOn(left.get(0), steps - 1)
                            : Uni.createFrom().item(left);
                })
                .onFailure()
                .recoverWithItem(failure -> failed(target, failure));
    }

    private List<Lagging> failed(Target target, Throwable failure) {
        Failure before = failures.get(target);
        int count = before == null ? 1 : before.count() + 1;
        long delay = DatabaseFailure.backOff(pace.retryDelay(), pace.maxRetryDelay(), count - 1)
                .toNanos();
        // Instances that failed at the same moment try again at different ones.
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

    /**
     * One transaction: takes the checkpoints, takes records in, moves the checkpoints.
     *
     * @return how many records it took in of each project whose checkpoint nobody else had
     */
    private Uni<Map<UUID, Long>> step(Projection projection, List<UUID> projectIds) {
        return pool.withTransaction(connection -> lock(connection, projection, projectIds)
                .chain(checkpoints -> checkpoints.isEmpty()
                        ? Uni.createFrom().item(Map.of())
                        : project(connection, projection, checkpoints)));
    }

    /** Takes the checkpoints that no other instance holds. */
    private static Uni<List<Checkpoint>> lock(SqlConnection connection, Projection projection, List<UUID> projectIds) {
        return lockThere(connection, projection, projectIds)
                .chain(checkpoints -> checkpoints.size() == projectIds.size()
                        ? Uni.createFrom().item(checkpoints)
                        : begin(connection, projection, projectIds)
                                .chain(() -> lockThere(connection, projection, projectIds)));
    }

    private static Uni<RowSet<Row>> begin(SqlConnection connection, Projection projection, List<UUID> projectIds) {
        return bind(BEGIN_PROJECTION, projection, projectIds).execute(connection);
    }

    private static Uni<List<Checkpoint>> lockThere(
            SqlConnection connection, Projection projection, List<UUID> projectIds) {
        return bind(LOCK_CHECKPOINT, projection, projectIds)
                .execute(connection)
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .map(row -> new Checkpoint(
                                row.getUUID("project_id"),
                                row.getLong("sequence_id"),
                                row.getInteger("generation"),
                                row.getBoolean("outdated")))
                        .toList());
    }

    private static Binds bind(Sql statement, Projection projection, List<UUID> projectIds) {
        return statement.bind("project_id", projectIds.toArray(UUID[]::new)).bind("projection", projection.name());
    }

    private static Uni<Map<UUID, Long>> project(
            SqlConnection connection, Projection projection, List<Checkpoint> checkpoints) {
        Map<UUID, Long> from = checkpoints.stream().collect(Collectors.toMap(Checkpoint::projectId, Checkpoint::from));
        return inTurn(
                        checkpoints.stream().filter(Checkpoint::outdated).toList(),
                        at -> projection.reset(connection, at.projectId()).replaceWith(at))
                .chain(() -> from.size() > 1
                        ? projection.projectTogether(connection, from)
                        : projection
                                .project(
                                        connection,
                                        checkpoints.get(0).projectId(),
                                        checkpoints.get(0).from())
                                .map(to -> Map.of(checkpoints.get(0).projectId(), to)))
                .call(to -> move(connection, projection, checkpoints, to))
                .map(to -> checkpoints.stream().collect(Collectors.toMap(Checkpoint::projectId, at -> at.taken(to))));
    }

    private static Uni<?> move(
            SqlConnection connection, Projection projection, List<Checkpoint> checkpoints, Map<UUID, Long> to) {
        List<Checkpoint> moved = checkpoints.stream()
                .filter(at -> at.outdated() || at.taken(to) > 0)
                .toList();
        return moved.isEmpty()
                ? Uni.createFrom().voidItem()
                : bind(
                                MOVE_CHECKPOINT,
                                projection,
                                moved.stream().map(Checkpoint::projectId).toList())
                        .bind("generation", moved.get(0).generation())
                        .bind(
                                "sequence_id",
                                moved.stream()
                                        .map(at -> at.from() + at.taken(to))
                                        .toArray(Long[]::new))
                        .execute(connection);
    }
}
