package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jboss.logging.Logger;

/** Repeats a task, one run at a time. While it fails, the log has one line about it. */
public final class PeriodicTask {

    private static final Duration AT_ONCE = Duration.ofMillis(1);

    private final Supplier<Uni<Boolean>> task;
    private final Duration interval;
    private final Duration retryDelay;
    private final Logger log;
    private final String subject;
    private volatile boolean failed;
    private volatile boolean stopped;

    /**
     * @param task true runs it again at once
     * @param interval from the end of a run to the next one
     * @param retryDelay added to the interval after a failure
     * @param subject of the log line, such as "Streams"
     */
    public PeriodicTask(
            Supplier<Uni<Boolean>> task, Duration interval, Duration retryDelay, Logger log, String subject) {
        this.task = task;
        this.interval = interval;
        this.retryDelay = retryDelay;
        this.log = log;
        this.subject = subject;
    }

    /** A multiple of the time since {@code began}, by {@link System#nanoTime}. */
    public static Duration pause(int times, long began, Duration longest) {
        Duration pause = Duration.ofNanos(times * (System.nanoTime() - began));
        // Timers have a minimum.
        Duration some = pause.compareTo(AT_ONCE) > 0 ? pause : AT_ONCE;
        return some.compareTo(longest) < 0 ? some : longest;
    }

    /** Runs the task for the first time within one interval. */
    public void start() {
        runAfter(Duration.ofMillis(anyPart(interval)));
    }

    /** Milliseconds, from 1 to the interval: the tasks of many databases, started at one moment, do not run at one moment. */
    static long anyPart(Duration interval) {
        return 1 + ThreadLocalRandom.current().nextLong(Math.max(1, interval.toMillis()));
    }

    public void stop() {
        stopped = true;
    }

    public boolean stopped() {
        return stopped;
    }

    private void runAfter(Duration delay) {
        Uni.createFrom()
                .voidItem()
                .onItem()
                .delayIt()
                .by(delay)
                .chain(() -> stopped ? Uni.createFrom().item(false) : task.get())
                .subscribe()
                .with(this::ended, this::runFailed);
    }

    private void ended(boolean more) {
        failed = false;
        if (!stopped) {
            runAfter(more ? AT_ONCE : interval);
        }
    }

    private void runFailed(Throwable failure) {
        if (DatabaseFailure.isEnd(failure)) {
            stopped = true;
        }
        if (!stopped) {
            if (!failed) {
                log.warnf("%s wait for the database: %s", subject, failure);
            }
            failed = true;
            runAfter(retryDelay.plus(interval));
        }
    }
}
