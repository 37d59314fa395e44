package dev.annals.projection;

import dev.annals.database.Binds;
import dev.annals.database.DatabaseFailure;
import dev.annals.database.Reads;
import dev.annals.database.RepeatedLook;
import dev.annals.database.Sql;
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
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Runs the projections: looks for projects that are behind, and brings them forward step by step, one transaction per step.
 *
 * <p>Any number of instances may do so at once. A step locks its checkpoint's row, and skips one that is locked elsewhere. The
 * checkpoint moves in the transaction that writes what was derived, so each record counts once, whatever breaks. A look is
 * one query over the heads and the checkpoints of a bounded number of projects; the next look continues behind them, and with
 * what this one did not finish: a busy project does not wait until all others have been looked at. A project whose step fails
 * is left alone for a while, longer each time, and hinders no other.
 */
@ApplicationScoped
public class Projector {

    private static final Logger LOG = Logger.getLogger(Projector.class);
    private static final Sql FIND_LAGGING = Sql.named("find_lagging");
    private static final Sql BEGIN_PROJECTION = Sql.named("begin_projection");
    private static final Sql HOLD_CHECKPOINT = Sql.named("hold_checkpoint");
    private static final Sql LOCK_CHECKPOINT = Sql.named("lock_checkpoint");
    private static final Sql MOVE_CHECKPOINT = Sql.named("move_checkpoint");
    /** How many failures are remembered; a project beyond that is tried again at every look. */
    private static final int MAX_FAILURES = 10_000;
    /** For how many projects it is known since when they are behind. Others do not count in the lag's seconds. */
    private static final int MAX_BEHIND = 10_000;
    /** Of the time that the looks of a round take, the pauses between them are so many times. */
    private static final int PAUSES = 19;
    /** A broken connection or a missed lock is only logged after this many failures in a row. */
    private static final int PASSING_FAILURES = 3;

    private final Pool pool;
    private final Map<String, Projection> projections;
    private final ProjectionConfig config;
    private final Map<Target, Failure> failures = new ConcurrentHashMap<>();
    private final Map<String, Lag> lags = new ConcurrentHashMap<>();
    private final RepeatedLook looks;

    // Where the next look begins, and what the looks since the first project have found. Only one look runs at a time.
    private volatile @Nullable UUID after;
    private volatile Map<String, Long> found = Map.of();
    private volatile long roundBegan = System.nanoTime();
    /** What a look has left behind when its steps were taken. It is no more than a look may find. */
    private volatile Map<Target, Lagging> unfinished = Map.of();

    private final Map<Target, Behind> behind = new ConcurrentHashMap<>();

    @Inject
    Projector(@Reads Pool pool, @All List<Projection> projections, ProjectionConfig config, MeterRegistry metrics) {
        this(pool, projections, config);
        projections.forEach(projection -> register(projection, metrics));
    }

    /** An instance that {@link #look} drives. */
    Projector(Pool pool, List<Projection> projections, ProjectionConfig config) {
        this.pool = pool;
        this.projections = projections.stream().collect(Collectors.toMap(Projection::name, Function.identity()));
        this.config = config;
        this.looks = new RepeatedLook(this::lookOn, config.interval(), config.retryDelay(), LOG, "Projections");
        projections.forEach(projection -> lags.put(projection.name(), new Lag(0, System.nanoTime())));
    }

    /** A projection of one project. */
    private record Target(Projection projection, UUID projectId) {

        Binds bind(Sql statement) {
            return statement.bind("project_id", projectId).bind("projection", projection.name());
        }
    }

    /** What a look has found: how many records a target is behind; it takes in at least {@code step} of them at a time. */
    private record Lagging(Target target, long records, int step) {}

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
    private record Checkpoint(long sequenceId, int generation, boolean outdated) {}

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
        if (config.enabled()) {
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
                : Uni.createFrom().item(true).onItem().delayIt().by(pause(System.nanoTime() - began)));
    }

    private Duration pause(long nanos) {
        Duration pause = Duration.ofNanos(PAUSES * nanos);
        return pause.compareTo(config.interval()) < 0 ? pause : config.interval();
    }

    /**
     * Looks at the next projects, and brings forward those that are behind.
     *
     * @return whether any of them may have more to take in
     */
    Uni<Boolean> look() {
        return FIND_LAGGING
                .bind("after", after)
                .bind("projects", config.projects())
                .bind("projections", names().toArray(String[]::new))
                .execute(pool)
                .map(this::lagging)
                .map(this::withUnfinished)
                .chain(this::inTurn);
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
        if (after == null) {
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
                missing.merge(projection.name(), records, Long::sum);
            }
        }
        found = missing;
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
        return Multi.createFrom()
                .iterable(lagging)
                .onItem()
                .transformToUniAndConcatenate(
                        behind -> looks.stopped() ? Uni.createFrom().item(0L) : takeOn(behind, config.steps()))
                .collect()
                .asList()
                .map(left -> keepUnfinished(lagging, left));
    }

    private boolean keepUnfinished(List<Lagging> lagging, List<Long> left) {
        Map<Target, Lagging> kept = new LinkedHashMap<>();
        for (int i = 0; i < left.size() && kept.size() < config.projects(); i++) {
            if (left.get(i) > 0) {
                Lagging was = lagging.get(i);
                kept.put(was.target(), new Lagging(was.target(), left.get(i), was.step()));
            }
        }
        unfinished = kept;
        return !kept.isEmpty();
    }

    /**
     * Brings one projection of a project forward now, by a bounded number of steps: for those who do not want to wait for the
     * next look. Does nothing where this instance does no such work, where another one is at it, or after a failure. Never
     * fails.
     */
    public Uni<Void> advance(String name, UUID projectId) {
        Projection projection = projections.get(name);
        if (!config.enabled() || looks.stopped() || projection == null) {
            return Uni.createFrom().voidItem();
        }
        return takeOn(new Lagging(new Target(projection, projectId), Long.MAX_VALUE, 1), config.steps())
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
        return target.bind(BEGIN_PROJECTION)
                .execute(connection)
                .chain(() -> target.bind(HOLD_CHECKPOINT).execute(connection))
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
    // @return how many records are left for the next look; 0 where there is nothing to do about them at once
    private Uni<Long> takeOn(Lagging behind, int steps) {
        Target target = behind.target();
        Failure before = failures.get(target);
        if (before != null && System.nanoTime() - before.until() < 0) {
            return Uni.createFrom().item(0L);
        }
        return step(target)
                .invoke(() -> failures.remove(target))
                .chain(taken -> {
                    long rest = behind.records() - taken;
                    if (taken == 0 || rest < behind.step()) {
                        return Uni.createFrom().item(0L);
                    }
                    return steps > 1 && !looks.stopped()
                            ? takeOn(new Lagging(target, rest, behind.step()), steps - 1)
                            : Uni.createFrom().item(rest);
                })
                .onFailure()
                .recoverWithItem(failure -> failed(target, failure));
    }

    private long failed(Target target, Throwable failure) {
        Failure before = failures.get(target);
        int count = before == null ? 1 : before.count() + 1;
        long delay = DatabaseFailure.backOff(config.retryDelay(), config.maxRetryDelay(), count - 1)
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
        return 0;
    }

    /** One transaction: takes the checkpoint, takes records in, moves the checkpoint. Gives how many records it took in. */
    private Uni<Long> step(Target target) {
        return pool.withTransaction(connection -> lock(connection, target)
                .chain(checkpoint ->
                        checkpoint == null ? Uni.createFrom().item(0L) : project(connection, target, checkpoint)));
    }

    private Uni<@Nullable Checkpoint> lock(SqlConnection connection, Target target) {
        return target.bind(BEGIN_PROJECTION)
                .execute(connection)
                .chain(() -> target.bind(LOCK_CHECKPOINT).execute(connection))
                .map(Projector::checkpoint);
    }

    private static @Nullable Checkpoint checkpoint(RowSet<Row> rows) {
        for (Row row : rows) {
            return new Checkpoint(row.getLong("sequence_id"), row.getInteger("generation"), row.getBoolean("outdated"));
        }
        return null;
    }

    private static Uni<Long> project(SqlConnection connection, Target target, Checkpoint at) {
        long from = at.outdated() ? 0 : at.sequenceId();
        return (at.outdated()
                        ? target.projection().reset(connection, target.projectId())
                        : Uni.createFrom().voidItem())
                .chain(() -> target.projection().project(connection, target.projectId(), from))
                .chain(to -> to > from || at.outdated()
                        ? move(connection, target, to, at.generation()).replaceWith(to - from)
                        : Uni.createFrom().item(0L));
    }

    private static Uni<RowSet<Row>> move(SqlConnection connection, Target target, long to, int generation) {
        return target.bind(MOVE_CHECKPOINT)
                .bind("sequence_id", to)
                .bind("generation", generation)
                .execute(connection);
    }
}
