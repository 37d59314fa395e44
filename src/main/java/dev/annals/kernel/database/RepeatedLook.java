package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.function.Supplier;
import org.jboss.logging.Logger;

/** Runs a task again and again, one run at a time. While it fails, the log has one line about it. */
public final class RepeatedLook {

    private static final Duration AT_ONCE = Duration.ofMillis(1);

    private final Supplier<Uni<Boolean>> look;
    private final Duration interval;
    private final Duration retryDelay;
    private final Logger log;
    private final String whoWaits;
    private volatile boolean failed;
    private volatile boolean stopped;

    /**
     * @param look the task; its result says whether it has more to do, and runs again at once
     * @param interval from the end of a run to the next one
     * @param retryDelay is added to the interval after a failure
     * @param whoWaits the subject of the log line, such as "Streams"
     */
    public RepeatedLook(
            Supplier<Uni<Boolean>> look, Duration interval, Duration retryDelay, Logger log, String whoWaits) {
        this.look = look;
        this.interval = interval;
        this.retryDelay = retryDelay;
        this.log = log;
        this.whoWaits = whoWaits;
    }

    /**
     * The pause that limits a task to a part of the time.
     *
     * @param times the pause, as a multiple of the time that the task took
     * @param began the beginning of the task, by {@link System#nanoTime}
     * @param longest the longest pause
     */
    public static Duration pause(int times, long began, Duration longest) {
        Duration pause = Duration.ofNanos(times * (System.nanoTime() - began));
        // Timers have a minimum of a millisecond.
        Duration some = pause.compareTo(AT_ONCE) > 0 ? pause : AT_ONCE;
        return some.compareTo(longest) < 0 ? some : longest;
    }

    /** Runs the task for the first time after one interval. */
    public void start() {
        lookAfter(interval);
    }

    /** Begins no further run. */
    public void stop() {
        stopped = true;
    }

    public boolean stopped() {
        return stopped;
    }

    private void lookAfter(Duration delay) {
        Uni.createFrom()
                .voidItem()
                .onItem()
                .delayIt()
                .by(delay)
                .chain(() -> stopped ? Uni.createFrom().item(false) : look.get())
                .subscribe()
                .with(this::looked, this::notLooked);
    }

    private void looked(boolean more) {
        failed = false;
        if (!stopped) {
            lookAfter(more ? AT_ONCE : interval);
        }
    }

    // Requests report each failure of the database; one line is enough here.
    private void notLooked(Throwable failure) {
        if (!stopped) {
            if (!failed) {
                log.warnf("%s wait for the database: %s", whoWaits, failure);
            }
            failed = true;
            lookAfter(retryDelay.plus(interval));
        }
    }
}
