package dev.annals.access.limits;

import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.github.bucket4j.BandwidthBuilder;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.TokensInheritanceStrategy;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;
import org.jspecify.annotations.Nullable;

/**
 * Keeps projects and tokens within their {@link Limits}.
 *
 * <p>A rate is a bucket that refills in one second. A request passes while the bucket is not empty, whatever its size, and may
 * leave a debt that later requests wait for. A batch larger than a second's allowance is therefore accepted once, and the
 * average stays within the rate.
 *
 * <p>Callers without limits and full buckets take no memory. Safe for any thread.
 */
@ApplicationScoped
public class Usage {

    private static final long SWEEP_MILLIS = 10_000;
    private static final Duration RETRY_WHEN_FULL = Duration.ofSeconds(5);

    private final Map<Key, Metered> rates = new ConcurrentHashMap<>();
    private final Map<Key, Integer> running = new ConcurrentHashMap<>();
    private final TimeMeter clock;
    private final @Nullable Vertx vertx;
    private long timer;

    @Inject
    Usage(Vertx vertx) {
        this.clock = TimeMeter.SYSTEM_NANOTIME;
        this.vertx = vertx;
    }

    /** For tests. */
    Usage(TimeMeter clock) {
        this.clock = clock;
        this.vertx = null;
    }

    private record Key(UUID whose, Limit limit) {}

    private record Metered(Bucket bucket, long rate) {}

    private record Policy(Key key, boolean ofProject, long value) {

        String name() {
            return (ofProject ? "project-" : "token-") + key.limit().noun();
        }
    }

    void start(@Observes StartupEvent event) {
        if (vertx != null) {
            timer = vertx.setPeriodic(SWEEP_MILLIS, tick -> sweep());
        }
    }

    void stop(@Observes ShutdownEvent event) {
        if (vertx != null) {
            vertx.cancelTimer(timer);
        }
    }

    /** Forgets full buckets. */
    void sweep() {
        rates.keySet()
                .forEach(key -> rates.computeIfPresent(
                        key,
                        (same, metered) -> metered.bucket().getAvailableTokens() >= metered.rate() ? null : metered));
    }

    /** For tests: the buckets in memory. */
    int size() {
        return rates.size();
    }

    /**
     * Counts a request.
     *
     * @throws ProblemException {@code limit-exceeded}
     */
    public void request(Limited caller) {
        if (caller.isLimited()) {
            List<Policy> policies = policies(caller, Limit.REQUESTS_PER_SECOND);
            refuseEmpty(policies);
            policies.forEach(policy -> take(policy, 1));
        }
    }

    /**
     * Checks a caller before the size is known.
     *
     * @throws ProblemException {@code limit-exceeded}
     */
    public void requireRoom(Limited caller) {
        if (caller.isLimited()) {
            refuseEmpty(policies(caller, Limit.RECORDS_PER_SECOND, Limit.BYTES_PER_SECOND));
        }
    }

    /**
     * Call this before the append.
     *
     * @throws ProblemException {@code limit-exceeded}, and nothing is counted
     */
    public void append(Limited caller, long records, long bytes) {
        if (caller.isLimited()) {
            requireRoom(caller);
            takeAppended(caller, records, bytes);
        }
    }

    /**
     * For records that can wait.
     *
     * @return null if they may be appended now; otherwise they are not counted
     */
    public @Nullable TooSoon appendInTurn(Limited caller, long records, long bytes) {
        if (caller.isLimited()) {
            TooSoon tooSoon = emptiest(policies(caller, Limit.RECORDS_PER_SECOND, Limit.BYTES_PER_SECOND));
            if (tooSoon != null) {
                return tooSoon;
            }
            takeAppended(caller, records, bytes);
        }
        return null;
    }

    /**
     * A refusal for now: the time to wait, and the answer to a caller that does not wait.
     *
     * @param problem the answer to a caller that does not wait
     */
    public record TooSoon(Duration delay, ProblemException problem) {}

    /** {@link Long#MAX_VALUE} without a limit of this kind. */
    public static long most(Limited caller, Limit limit) {
        return policies(caller, limit).stream().mapToLong(Policy::value).min().orElse(Long.MAX_VALUE);
    }

    /** Limits the number at a time. Fails with {@code limit-exceeded}. */
    public <T> Uni<T> within(Limited caller, Limit limit, Uni<T> work) {
        return Uni.createFrom().deferred(() -> {
            Runnable leave = enter(caller, limit);
            return work.onTermination().invoke(leave);
        });
    }

    /**
     * Counts work that continues after its answer has begun.
     *
     * @return the caller runs it at the end; further calls do nothing
     * @throws ProblemException {@code limit-exceeded}
     */
    public Runnable enter(Limited caller, Limit limit) {
        if (!caller.isLimited()) {
            return () -> {};
        }
        List<Key> entered = new ArrayList<>(2);
        for (Policy policy : policies(caller, limit)) {
            boolean[] full = {false};
            running.compute(policy.key(), (key, there) -> {
                int count = there == null ? 0 : there;
                full[0] = count >= policy.value();
                return full[0] ? there : (Integer) (count + 1);
            });
            if (full[0]) {
                entered.forEach(this::leave);
                throw full(policy);
            }
            entered.add(policy.key());
        }
        AtomicBoolean left = new AtomicBoolean();
        return () -> {
            if (!left.getAndSet(true)) {
                entered.forEach(this::leave);
            }
        };
    }

    private void leave(Key key) {
        running.computeIfPresent(key, (same, count) -> count == 1 ? null : (Integer) (count - 1));
    }

    @ServerResponseFilter
    void addHeaders(ContainerRequestContext request, ContainerResponseContext response) {
        if (request.getProperty(Limited.PROPERTY) instanceof Limited caller && caller.isLimited()) {
            describe(caller, response.getHeaders()::putSingle);
        }
    }

    void describe(Limited caller, BiConsumer<String, String> headers) {
        List<String> quotas = new ArrayList<>();
        List<String> left = new ArrayList<>();
        for (Policy policy : policies(caller, Limit.values())) {
            Limit limit = policy.key().limit();
            if (!limit.isQuota()) {
                continue;
            }
            String unit = limit == Limit.REQUESTS_PER_SECOND ? "" : ";qu=\"" + limit.unit() + "\"";
            String window = limit.isRate() ? ";w=1" : "";
            quotas.add("\"" + policy.name() + "\";q=" + policy.value() + unit + window);
            left.add("\"" + policy.name() + "\";r=" + left(policy));
        }
        if (quotas.isEmpty()) {
            return;
        }
        headers.accept("RateLimit-Policy", String.join(", ", quotas));
        headers.accept("RateLimit", String.join(", ", left));
    }

    private String left(Policy policy) {
        if (!policy.key().limit().isRate()) {
            return Long.toString(Math.max(0, policy.value() - running.getOrDefault(policy.key(), 0)));
        }
        Metered metered = rates.get(policy.key());
        long available = metered == null ? policy.value() : metered.bucket().getAvailableTokens();
        if (available >= policy.value()) {
            return Long.toString(policy.value());
        }
        // A debt may take several seconds to refill.
        return Math.max(0, available) + ";t=" + seconds(wait(policy));
    }

    private static List<Policy> policies(Limited caller, Limit... limits) {
        List<Policy> policies = new ArrayList<>(2 * limits.length);
        for (Limit limit : limits) {
            Long ofProject = caller.projectLimits().of(limit);
            if (ofProject != null) {
                policies.add(new Policy(new Key(caller.projectId(), limit), true, ofProject));
            }
            Long ofToken = caller.tokenLimits().of(limit);
            if (ofToken != null) {
                policies.add(new Policy(new Key(caller.key(), limit), false, ofToken));
            }
        }
        return policies;
    }

    private void refuseEmpty(List<Policy> policies) {
        TooSoon tooSoon = emptiest(policies);
        if (tooSoon != null) {
            throw tooSoon.problem();
        }
    }

    /** The policy with the longest wait; null if every bucket has something left. */
    private @Nullable TooSoon emptiest(List<Policy> policies) {
        Policy emptiest = null;
        long longest = 0;
        for (Policy policy : policies) {
            long wait = wait(policy);
            if (wait > longest) {
                longest = wait;
                emptiest = policy;
            }
        }
        return emptiest == null ? null : new TooSoon(Duration.ofNanos(longest), empty(emptiest, longest));
    }

    /** In nanoseconds; 0 if the bucket has something left. */
    private long wait(Policy policy) {
        Metered metered = rates.get(policy.key());
        return metered == null
                ? 0
                : metered.bucket().estimateAbilityToConsume(1).getNanosToWaitForRefill();
    }

    private void takeAppended(Limited caller, long records, long bytes) {
        policies(caller, Limit.RECORDS_PER_SECOND).forEach(policy -> take(policy, records));
        policies(caller, Limit.BYTES_PER_SECOND).forEach(policy -> take(policy, bytes));
    }

    private void take(Policy policy, long amount) {
        if (amount > 0) {
            // Within compute(), so that sweep() removes no bucket while it is used.
            rates.compute(policy.key(), (key, there) -> {
                Metered metered = metered(there, policy.value());
                metered.bucket().consumeIgnoringRateLimits(amount);
                return metered;
            });
        }
    }

    private Metered metered(@Nullable Metered there, long rate) {
        if (there == null) {
            return new Metered(
                    Bucket.builder()
                            .withCustomTimePrecision(clock)
                            .addLimit(bandwidth -> second(bandwidth, rate))
                            .build(),
                    rate);
        }
        if (there.rate() == rate) {
            return there;
        }
        // A debt stays.
        there.bucket()
                .replaceConfiguration(
                        BucketConfiguration.builder()
                                .addLimit(bandwidth -> second(bandwidth, rate))
                                .build(),
                        TokensInheritanceStrategy.AS_IS);
        return new Metered(there.bucket(), rate);
    }

    private static BandwidthBuilder.BandwidthBuilderBuildStage second(
            BandwidthBuilder.BandwidthBuilderCapacityStage bandwidth, long rate) {
        return bandwidth.capacity(rate).refillGreedy(rate, Duration.ofSeconds(1));
    }

    private static long seconds(long nanos) {
        return Math.max(1, Duration.ofNanos(nanos).plusMillis(999).toSeconds());
    }

    private static ProblemException empty(Policy policy, long nanos) {
        Limit limit = policy.key().limit();
        String what = limit == Limit.REQUESTS_PER_SECOND
                ? "send " + policy.value() + " requests"
                : "append " + policy.value() + " " + limit.noun();
        return problem(
                policy,
                whose(policy) + " may " + what + " per second at this instance, and has used that up. Send the request"
                        + " again after Retry-After seconds, or ask the administrator for a higher limit.",
                Duration.ofNanos(nanos));
    }

    private static ProblemException full(Policy policy) {
        String what = policy.key().limit() == Limit.STREAMS ? "streams and long polls" : "exports";
        return problem(
                policy,
                whose(policy) + " may have " + policy.value() + " " + what
                        + " at a time at this instance, and has as many."
                        + " End one, or ask the administrator for a higher limit.",
                RETRY_WHEN_FULL);
    }

    private static String whose(Policy policy) {
        return policy.ofProject() ? "The project of this token" : "This token";
    }

    private static ProblemException problem(Policy policy, String detail, Duration wait) {
        return new ProblemException(Problem.of(ProblemType.LIMIT_EXCEEDED, detail)
                .with("limit", policy.name())
                .withRetryAfter(wait));
    }
}
