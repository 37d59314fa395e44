package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Divides the connections of a pool: a project uses at most half of them, so that it cannot stop the others. Its further work waits in a
 * line of its own, and lines take turns. Work of no project has a line without a share. Safe for any thread.
 */
final class ProjectShares {

    /** More than a pool serves within the waiting time. */
    private static final int MAX_WAITING = 1_024;

    private final int size;
    private final Duration maxWait;
    private final Vertx vertx;
    private final Map<Optional<UUID>, Line> lines = new HashMap<>();
    /** The lines in which work waits; the next turn is the first one's. */
    private final Deque<Line> turns = new ArrayDeque<>();

    private int running;

    /** @param maxWait for the beginning of work */
    ProjectShares(int size, Duration maxWait, Vertx vertx) {
        this.size = size;
        this.maxWait = maxWait;
        this.vertx = vertx;
    }

    private static final class Line {
        final Optional<UUID> project;
        final Deque<Waiter> waiting = new ArrayDeque<>();
        final int share;
        int running;

        Line(Optional<UUID> project, int share) {
            this.project = project;
            this.share = share;
        }
    }

    /** Work, and where it runs. */
    private static final class Waiter {
        final Line line;
        final Runnable work;
        final UniEmitter<?> emitter;
        final @Nullable Context context = Vertx.currentContext();
        long timer;

        Waiter(Line line, Runnable work, UniEmitter<?> emitter) {
            this.line = line;
            this.work = work;
            this.emitter = emitter;
        }

        void run(Runnable action) {
            if (context == null) {
                action.run();
            } else {
                context.runOnContext(now -> action.run());
            }
        }
    }

    /**
     * Runs work in the project's turn, unless its caller has gone by then.
     *
     * @param ended completes when work that failed has released its connection
     * @return fails with {@link ProjectBusyException}, or {@link DatabaseUnavailableException} for no project, if too much waits, or for too long
     */
    <T> Uni<T> run(@Nullable UUID project, Supplier<Uni<T>> work, Supplier<Future<Void>> ended) {
        return Uni.createFrom()
                .emitter(emitter -> begin(
                        project,
                        emitter,
                        line -> () -> work.get()
                                .subscribe()
                                .with(
                                        item -> {
                                            release(line);
                                            emitter.complete(item);
                                        },
                                        failure -> {
                                            ended.get().onComplete(over -> release(line));
                                            emitter.fail(failure);
                                        })));
    }

    private interface Work {
        Runnable in(Line line);
    }

    private void begin(@Nullable UUID project, UniEmitter<?> emitter, Work work) {
        Waiter waiter = null;
        Line line;
        synchronized (this) {
            line = lines.computeIfAbsent(
                    Optional.ofNullable(project), id -> new Line(id, id.isPresent() ? Math.max(1, size / 2) : size));
            if (running < size && line.running < line.share) {
                running++;
                line.running++;
            } else if (line.waiting.size() < MAX_WAITING) {
                waiter = await(new Waiter(line, work.in(line), emitter));
            } else {
                throw refusal(line);
            }
        }
        if (waiter == null) {
            work.in(line).run();
        } else {
            Waiter waits = waiter;
            emitter.onTermination(() -> remove(waits));
        }
    }

    private Waiter await(Waiter waiter) {
        if (waiter.line.waiting.isEmpty()) {
            turns.add(waiter.line);
        }
        waiter.line.waiting.add(waiter);
        waiter.timer = vertx.setTimer(maxWait.toMillis(), late -> {
            if (remove(waiter)) {
                waiter.run(() -> waiter.emitter.fail(refusal(waiter.line)));
            }
        });
        return waiter;
    }

    /** False if it has begun. */
    private synchronized boolean remove(Waiter waiter) {
        vertx.cancelTimer(waiter.timer);
        boolean waited = waiter.line.waiting.remove(waiter);
        if (waited && waiter.line.waiting.isEmpty()) {
            turns.remove(waiter.line);
            forget(waiter.line);
        }
        return waited;
    }

    private void release(Line line) {
        Waiter next;
        synchronized (this) {
            running--;
            line.running--;
            next = next();
            forget(line);
        }
        if (next != null) {
            vertx.cancelTimer(next.timer);
            next.run(next.work);
        }
    }

    private @Nullable Waiter next() {
        for (Iterator<Line> all = turns.iterator(); all.hasNext(); ) {
            Line line = all.next();
            if (line.running < line.share) {
                all.remove();
                Waiter next = line.waiting.remove();
                if (!line.waiting.isEmpty()) {
                    turns.add(line);
                }
                running++;
                line.running++;
                return next;
            }
        }
        return null;
    }

    private void forget(Line line) {
        if (line.running == 0 && line.waiting.isEmpty()) {
            lines.remove(line.project, line);
        }
    }

    private static RuntimeException refusal(Line line) {
        return line.project.isPresent()
                ? new ProjectBusyException()
                : new DatabaseUnavailableException(new IllegalStateException("No connection for reads became free"));
    }
}
