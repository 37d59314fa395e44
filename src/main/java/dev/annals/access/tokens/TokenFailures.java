package dev.annals.access.tokens;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts, by address, the requests without a valid token. */
final class TokenFailures {

    private final Cache<String, AtomicInteger> failures;
    private final int most;
    private final Duration time;

    TokenFailures(TokenConfig config) {
        this.most = config.failures();
        this.time = config.failureTime();
        this.failures = Caffeine.newBuilder()
                .maximumSize(config.addresses())
                .expireAfterWrite(time)
                .build();
    }

    /** Whether the address has sent more of them than allowed. */
    boolean tooMany(String address) {
        AtomicInteger count = failures.getIfPresent(address);
        return count != null && count.get() >= most;
    }

    /** Counts one more. */
    void add(String address) {
        failures.get(address, first -> new AtomicInteger()).incrementAndGet();
    }

    /** The problem of a request without a valid token from an address with too many. */
    ProblemException problem() {
        return new ProblemException(Problem.of(
                        ProblemType.TOO_MANY_FAILURES,
                        "Too many requests from this address had no valid token. Send a valid one, or try again later.")
                .withRetryAfter(time));
    }
}
