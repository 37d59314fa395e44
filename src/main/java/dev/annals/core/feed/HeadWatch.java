package dev.annals.core.feed;

import dev.annals.access.places.Places;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.quarkus.runtime.ShutdownDelayInitiatedEvent;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import org.jboss.logging.Logger;

/**
 * Wakes the clients that wait for records when the head of their feed moves, and limits how many may wait.
 *
 * <p>Appends of this instance report their head ({@link #appended}). One statement per tick and database reads the heads of all
 * awaited feeds; correctness rests on it alone. It compares the head with each client's position, not with the previous head, so the
 * next tick repairs whatever an earlier one missed.
 *
 * <p>Times are {@link System#nanoTime()}. Safe for any thread.
 */
@ApplicationScoped
public class HeadWatch {

    /**
     * A record from a plain SQL writer or another instance wakes clients this much later. An instance with waiting clients
     * runs forty such statements a second.
     */
    private static final Duration TICK = Duration.ofMillis(25);
    /** A statement with so many heads takes milliseconds. */
    static final int HEADS_PER_STATEMENT = 1_000;

    private static final Logger LOG = Logger.getLogger(HeadWatch.class);
    private static final Sql READ_HEADS = Sql.named("core/feed/read_heads");
    /** A project may be in a database that the settings do not name. */
    private static final Duration PAUSE_AFTER_QUESTION = Duration.ofSeconds(1);

    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(1);
    private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

    private final Map<UUID, Watched> projects = new HashMap<>();
    private final AtomicInteger waits = new AtomicInteger();
    private final AtomicInteger streams = new AtomicInteger();
    private final Places places;
    private final PerDatabase<Heads> databases;
    private final StandbyReader standbys;
    private final Vertx vertx;
    private final Context context;
    private final LiveConfig config;
    private final Timer statements;
    private boolean ticking;
    private boolean stopping;

    HeadWatch(
            Places places,
            Databases databases,
            StandbyReader standbys,
            Vertx vertx,
            LiveConfig config,
            MeterRegistry metrics) {
        this.places = places;
        this.databases = new PerDatabase<>(databases, database -> new Heads(database.reads()));
        this.standbys = standbys;
        this.vertx = vertx;
        this.context = vertx.getOrCreateContext();
        this.config = config;
        this.statements = metrics.timer("annals.live.heads");
        metrics.gauge("annals.live.waits", waits);
        metrics.gauge("annals.live.streams", streams);
    }

    enum Kind {
        LONG_POLL,
        STREAM
    }

    static final class Waiter {
        private final Kind kind;
        private final UUID projectId;
        private final LongConsumer wake;
        private final Runnable stop;
        /** The client waits behind this sequence id. */
        private long position;

        private long since;

        /**
         * Both callbacks run on any thread and must return at once.
         *
         * @param wake gets a time at which the head had moved
         */
        Waiter(Kind kind, UUID projectId, LongConsumer wake, Runnable stop) {
            this.kind = kind;
            this.projectId = projectId;
            this.wake = wake;
            this.stop = stop;
        }
    }

    private static final class Watched {
        final Map<Kind, Integer> waiters = new EnumMap<>(Map.of(Kind.LONG_POLL, 0, Kind.STREAM, 0));
        final Set<Waiter> all = new HashSet<>();
        final Set<Waiter> waiting = new HashSet<>();
        /** The newest known head, and when it was known. A read that begins later sees it. */
        long head;

        long headAt;
        /** When home may be asked for the project's place. */
        long nextQuestion = System.nanoTime();
    }

    /**
     * Admits a client, which does not wait yet.
     *
     * @throws ProblemException {@code too-many-readers}; {@code unavailable} if the service is stopping
     */
    synchronized void join(Waiter waiter) {
        if (stopping) {
            throw new ProblemException(
                    ProblemType.UNAVAILABLE, "The service is stopping. Send the request again to another instance.");
        }
        Kind kind = waiter.kind;
        AtomicInteger everywhere = count(kind);
        Watched known = projects.get(waiter.projectId);
        int inProject = known == null ? 0 : known.waiters.getOrDefault(kind, 0);
        if (everywhere.get() >= limit(kind) || inProject >= projectLimit(kind)) {
            throw tooMany(kind);
        }
        everywhere.incrementAndGet();
        Watched project = projects.computeIfAbsent(waiter.projectId, id -> new Watched());
        project.waiters.put(kind, inProject + 1);
        project.all.add(waiter);
    }

    private AtomicInteger count(Kind kind) {
        return kind == Kind.STREAM ? streams : waits;
    }

    private int limit(Kind kind) {
        return kind == Kind.STREAM ? config.streams() : config.waits();
    }

    private int projectLimit(Kind kind) {
        return Math.max(1, limit(kind) / 2);
    }

    private static ProblemException tooMany(Kind kind) {
        String detail = kind == Kind.STREAM
                ? "Too many streams are open, of this project or of all. Poll, or open one later."
                : "Too many requests wait for records, of this project or of all. Poll without wait, or wait later.";
        return new ProblemException(
                Problem.of(ProblemType.TOO_MANY_READERS, detail).withRetryAfter(RETRY_AFTER));
    }

    /**
     * Wakes a client, once, when the head is no longer at its position.
     *
     * @param readAt when the read began that brought the client to its position
     * @return false if the head has moved since: the client has to read again
     */
    synchronized boolean await(Waiter waiter, long position, long readAt) {
        Watched project = projects.get(waiter.projectId);
        if (project == null || !project.all.contains(waiter)) {
            return true; // the client has left
        }
        if (project.head > position && project.headAt - readAt >= 0) {
            return false;
        }
        waiter.position = position;
        waiter.since = System.nanoTime();
        project.waiting.add(waiter);
        if (!ticking) {
            ticking = true;
            context.runOnContext(now -> schedule());
        }
        return true;
    }

    /** Has no effect on a client that has not joined. */
    synchronized void leave(Waiter waiter) {
        Watched project = projects.get(waiter.projectId);
        if (project != null && project.all.remove(waiter)) {
            count(waiter.kind).decrementAndGet();
            project.waiting.remove(waiter);
            project.waiters.merge(waiter.kind, -1, Integer::sum);
            if (project.all.isEmpty()) {
                projects.remove(waiter.projectId);
            }
        }
    }

    public void appended(UUID projectId, long head) {
        standbys.appended(projectId, head);
        long now = System.nanoTime();
        List<Waiter> woken = new ArrayList<>();
        synchronized (this) {
            Watched project = projects.get(projectId);
            if (project != null) {
                project.head = Math.max(project.head, head);
                project.headAt = now;
                takeWaiting(project, waiter -> waiter.position < head, woken);
            }
        }
        woken.forEach(waiter -> waiter.wake.accept(now));
    }

    private static void takeWaiting(Watched project, Predicate<Waiter> moved, List<Waiter> woken) {
        project.waiting.removeIf(waiter -> {
            boolean wakes = moved.test(waiter);
            if (wakes) {
                woken.add(waiter);
            }
            return wakes;
        });
    }

    private void schedule() {
        vertx.setTimer(TICK.toMillis(), timer -> tick());
    }

    private void tick() {
        Map<Heads, List<UUID>> awaited = new HashMap<>();
        synchronized (this) {
            projects.forEach((id, project) -> {
                if (!project.waiting.isEmpty()) {
                    awaited.computeIfAbsent(databases.of(places.of(id)), heads -> new ArrayList<>())
                            .add(id);
                }
            });
            if (awaited.isEmpty()) {
                ticking = false;
                return;
            }
        }
        awaited.forEach(Heads::read);
        schedule();
    }

    /** Reads the heads of one database, unless it has not answered yet. */
    private final class Heads {

        private final Pool pool;
        private volatile boolean reading;
        private volatile boolean failing;
        private volatile long pausedUntil = System.nanoTime();

        Heads(Pool pool) {
            this.pool = pool;
        }

        void read(List<UUID> awaited) {
            if (reading || System.nanoTime() - pausedUntil < 0) {
                return;
            }
            reading = true;
            Multi.createFrom()
                    .iterable(awaited)
                    .group()
                    .intoLists()
                    .of(HEADS_PER_STATEMENT)
                    .onItem()
                    .transformToUniAndConcatenate(this::readHeads)
                    .subscribe()
                    .with(done -> {}, this::failed, this::succeeded);
        }

        private Uni<Boolean> readHeads(List<UUID> projectIds) {
            long began = System.nanoTime();
            return READ_HEADS
                    .bind("project_ids", projectIds.toArray(UUID[]::new))
                    .execute(pool)
                    .map(rows -> {
                        statements.record(System.nanoTime() - began, TimeUnit.NANOSECONDS);
                        learn(rows, began);
                        return true;
                    });
        }

        private void succeeded() {
            if (failing) {
                failing = false;
                LOG.info("The heads of feeds can be read again");
            }
            reading = false;
        }

        private void failed(Throwable failure) {
            if (!failing) {
                failing = true;
                LOG.warnf(
                        "The heads of feeds cannot be read; waiting clients are only woken by appends of this instance: %s",
                        failure);
            }
            pausedUntil = System.nanoTime() + PAUSE_AFTER_FAILURE.toNanos();
            reading = false;
        }
    }

    private void learn(RowSet<Row> rows, long began) {
        for (Row row : rows) {
            UUID projectId = row.getUUID("project_id");
            if (!row.getBoolean("here") && mayAsk(projectId)) {
                places.askAgain(projectId);
            }
        }
        long now = System.nanoTime();
        List<Waiter> woken = new ArrayList<>();
        synchronized (this) {
            for (Row row : rows) {
                Watched project = projects.get(row.getUUID("project_id"));
                if (project != null && row.getBoolean("here")) {
                    learn(project, row.getLong("head"), began, now, woken);
                }
            }
        }
        woken.forEach(waiter -> waiter.wake.accept(now));
    }

    private synchronized boolean mayAsk(UUID projectId) {
        Watched project = projects.get(projectId);
        long now = System.nanoTime();
        if (project == null || now - project.nextQuestion < 0) {
            return false;
        }
        project.nextQuestion = now + PAUSE_AFTER_QUESTION.toNanos();
        return true;
    }

    private static void learn(Watched project, long head, long began, long now, List<Waiter> woken) {
        // An append may have reported a newer head meanwhile.
        if (head > project.head || project.headAt - began < 0) {
            project.head = head;
            project.headAt = now;
        }
        // A head before the position of a client that already waited means that the feed was set back.
        // The next read fails with feed-rewound.
        takeWaiting(
                project,
                waiter -> waiter.position < head || (waiter.position > head && waiter.since - began < 0),
                woken);
    }

    synchronized boolean isStopping() {
        return stopping;
    }

    /** Ends every long poll and stream before the service waits for its running requests. */
    void stop(@Observes ShutdownDelayInitiatedEvent event) {
        stop();
    }

    void stop(@Observes ShutdownEvent event) {
        stop();
    }

    private void stop() {
        List<Waiter> all = new ArrayList<>();
        synchronized (this) {
            stopping = true;
            projects.values().forEach(project -> all.addAll(project.all));
        }
        all.forEach(waiter -> waiter.stop.run());
    }
}
