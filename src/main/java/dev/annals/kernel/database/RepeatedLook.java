package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.function.Supplier;
import org.jboss.logging.Logger;

/** Looks for work in the database again and again, one look at a time. While looks fail, one line of the log says so. */
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
     * @param look gives whether there is more to do, which does not wait for the next interval
     * @param interval from the end of a look to the next one
     * @param retryDelay comes on top of the interval behind a look that failed
     * @param whoWaits begins the line of the log, such as "Streams"
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
     * How long to pause behind a look, so that looks take no more than a part of the time.
     *
     * @param times so many times as long as the look took
     * @param began when it began, by {@link System#nanoTime}
     * @param longest and no longer than this
     */
    public static Duration pause(int times, long began, Duration longest) {
        Duration pause = Duration.ofNanos(times * (System.nanoTime() - began));
        // A timer takes no less than a millisecond.
        Duration some = pause.compareTo(AT_ONCE) > 0 ? pause : AT_ONCE;
        return some.compareTo(longest) < 0 ? some : longest;
    }

    /** Looks for the first time one interval from now. */
    public void start() {
        lookAfter(interval);
    }

    /** No look begins after this one. */
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

    // Requests report that the database is away; here one line is enough.
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
