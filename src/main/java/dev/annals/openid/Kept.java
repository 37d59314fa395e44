package dev.annals.openid;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Something of the provider's that is fetched, and kept for a while. It is fetched by one call at a time, and no more often than
 * the interval says, whether that succeeds or fails. Safe for any thread.
 */
final class Kept<T> {

    private static final Logger LOG = Logger.getLogger(Kept.class);

    private final String what;
    private final Supplier<Uni<T>> fetch;
    private final long fresh;
    private final long usable;
    private final long interval;

    private volatile @Nullable Held<T> held;
    private volatile boolean failed;
    private @Nullable Uni<T> underWay;
    private @Nullable Long begun;

    private record Held<T>(T value, long at) {}

    /** It is not there, and cannot be had now. */
    static final class Missing extends Exception {

        private static final long serialVersionUID = 1;
    }

    /**
     * @param what for the log
     * @param fresh how long it counts
     * @param outage how much longer it counts if it cannot be fetched
     * @param interval from one attempt to the next
     */
    Kept(String what, Supplier<Uni<T>> fetch, Duration fresh, Duration outage, Duration interval) {
        this.what = what;
        this.fetch = fetch;
        this.fresh = fresh.toNanos();
        this.usable = fresh.plus(outage).toNanos();
        this.interval = interval.toNanos();
    }

    /**
     * What is kept if that serves, and otherwise what is fetched now, which may not serve either.
     *
     * @return fails with {@link Missing}
     */
    Uni<T> get(Predicate<? super T> serves) {
        Held<T> known = held;
        long age = known == null ? Long.MAX_VALUE : System.nanoTime() - known.at;
        boolean isGood = known != null && age < usable && serves.test(known.value);
        if (known != null && isGood && age < fresh) {
            return Uni.createFrom().item(known.value);
        }
        Uni<T> fetched = fetchInTurn();
        if (known != null && isGood) {
            // Nobody waits for what is renewed.
            if (fetched != null) {
                fetched.subscribe().with(done -> {}, failure -> {});
            }
            return Uni.createFrom().item(known.value);
        }
        if (fetched != null) {
            return fetched;
        }
        return known == null || failed || age >= usable
                ? Uni.createFrom().failure(new Missing())
                : Uni.createFrom().item(known.value);
    }

    private synchronized @Nullable Uni<T> fetchInTurn() {
        if (underWay != null) {
            return underWay;
        }
        long now = System.nanoTime();
        if (begun != null && now - begun < interval) {
            return null;
        }
        begun = now;
        underWay = Uni.createFrom()
                .deferred(fetch::get)
                .invoke(this::keep)
                .onFailure()
                .transform(this::noteFailure)
                .onTermination()
                .invoke(this::end)
                .memoize()
                .indefinitely();
        return underWay;
    }

    private void keep(T value) {
        held = new Held<>(value, System.nanoTime());
        if (failed) {
            LOG.infof("%s could be fetched again", what);
        }
        failed = false;
    }

    private Throwable noteFailure(Throwable failure) {
        if (!failed) {
            LOG.warnf(
                    "%s cannot be fetched; it is tried again every %d ms: %s",
                    what, TimeUnit.NANOSECONDS.toMillis(interval), told(failure));
        }
        failed = true;
        return new Missing();
    }

    /** What the provider has sent is not for the log. */
    private static String told(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure.getMessage()
                + (cause == null ? "" : " (" + cause.getClass().getSimpleName() + ")");
    }

    private synchronized void end() {
        underWay = null;
    }
}
