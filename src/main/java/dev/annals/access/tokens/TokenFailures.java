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

    /** The time over which the failures of an address are counted; an address that has too many waits for so long. */
    private static final Duration TIME = Duration.ofMinutes(1);
    /** For so many addresses at a time, which take a MiB; an attacker with more of them is beyond what counting can stop. */
    private static final int MAX_ADDRESSES = 10_000;

    private final Cache<String, AtomicInteger> failures;
    private final int most;

    TokenFailures(TokenConfig config) {
        this.most = config.failures();
        this.failures = Caffeine.newBuilder()
                .maximumSize(MAX_ADDRESSES)
                .expireAfterWrite(TIME)
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
                .withRetryAfter(TIME));
    }
}
