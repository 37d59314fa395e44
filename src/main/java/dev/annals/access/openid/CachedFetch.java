package dev.annals.access.openid;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Caches a value of the provider. One call at a time fetches it, at most once per interval. Safe for any thread.
 *
 * <p>A value is fresh, then usable only while it cannot be fetched, then missing.
 */
final class CachedFetch<T> {

    private static final Logger LOG = Logger.getLogger(CachedFetch.class);

    private final String what;
    private final Supplier<Uni<T>> fetch;
    private final long fresh;
    private final long usable;
    private final long interval;
    private final LongSupplier nanoTime;

    private volatile @Nullable Entry<T> entry;
    /** Null if the last attempt did not fail. */
    private volatile @Nullable Long failedAt;

    private @Nullable Uni<T> underWay;
    private @Nullable Long begun;

    private record Entry<T>(T value, long at) {}

    /** The value is not cached and cannot be fetched now. */
    static final class Missing extends Exception {

        private static final long serialVersionUID = 1;
    }

    /**
     * @param what for the log
     * @param fresh how long a value needs no fetch
     * @param outage how much longer it is usable while the provider is away
     * @param interval between attempts
     * @param nanoTime the clock
     */
    CachedFetch(
            String what,
            Supplier<Uni<T>> fetch,
            Duration fresh,
            Duration outage,
            Duration interval,
            LongSupplier nanoTime) {
        this.what = what;
        this.fetch = fetch;
        this.fresh = fresh.toNanos();
        this.usable = fresh.plus(outage).toNanos();
        this.interval = interval.toNanos();
        this.nanoTime = nanoTime;
    }

    /**
     * Returns a fresh cached value that serves, or else fetches one, which may not serve. If the fetch fails, a usable value
     * that serves is returned.
     *
     * @return fails with {@link Missing}
     */
    Uni<T> get(Predicate<? super T> serves) {
        Entry<T> known = entry;
        long age = known == null ? Long.MAX_VALUE : nanoTime.getAsLong() - known.at;
        boolean isGood = known != null && age < usable && serves.test(known.value);
        if (known != null && isGood && age < fresh) {
            return Uni.createFrom().item(known.value);
        }
        boolean isAway = isAway();
        Uni<T> fetched = fetchInTurn();
        if (known != null && isGood) {
            if (fetched == null) {
                return Uni.createFrom().item(known.value);
            }
            if (isAway) {
                fetched.subscribe().with(done -> {}, failure -> {});
                return Uni.createFrom().item(known.value);
            }
            return fetched.onFailure().recoverWithItem(known.value);
        }
        if (fetched != null) {
            return fetched;
        }
        return known == null || failedAt != null || age >= usable
                ? Uni.createFrom().failure(new Missing())
                : Uni.createFrom().item(known.value);
    }

    /** During an outage no caller waits for a fetch, except the first one after two intervals without an attempt. */
    private boolean isAway() {
        Long at = failedAt;
        return at != null && nanoTime.getAsLong() - at < 2 * interval;
    }

    private synchronized @Nullable Uni<T> fetchInTurn() {
        if (underWay != null) {
            return underWay;
        }
        long now = nanoTime.getAsLong();
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
        entry = new Entry<>(value, nanoTime.getAsLong());
        if (failedAt != null) {
            LOG.infof("%s can be fetched again", what);
        }
        failedAt = null;
    }

    private Throwable noteFailure(Throwable failure) {
        if (failedAt == null) {
            LOG.warnf(
                    "%s cannot be fetched. The service tries again every %d ms: %s",
                    what, TimeUnit.NANOSECONDS.toMillis(interval), told(failure));
        }
        failedAt = nanoTime.getAsLong();
        return new Missing();
    }

    /** Contains nothing that the provider has sent. */
    private static String told(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure.getMessage()
                + (cause == null ? "" : " (" + cause.getClass().getSimpleName() + ")");
    }

    private synchronized void end() {
        underWay = null;
    }
}
