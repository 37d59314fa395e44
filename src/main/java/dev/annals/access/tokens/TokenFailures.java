package dev.annals.access.tokens;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.kernel.connection.ClientAddress;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Counts requests without a valid token: by client, to limit them, and by address, until {@link #take} makes events of them.
 * Both counts are bounded. Safe for any thread.
 */
final class TokenFailures {

    /** A client with too many failures waits as long. */
    private static final Duration TIME = Duration.ofMinutes(1);
    /** They take a MiB. Counting cannot stop an attacker with more clients. */
    private static final int MAX_CLIENTS = 10_000;
    /** Counted until the next {@link #take}. */
    private static final int MAX_ADDRESSES = 1_000;
    /** Those with the most failures. */
    static final int EVENTS = 20;

    private final Cache<String, AtomicInteger> byClient;
    private final int most;

    private Map<String, Long> byAddress = new LinkedHashMap<>();
    private long others;
    private Instant since = Instant.now();

    /** @param most per client and minute */
    TokenFailures(int most) {
        this.most = most;
        this.byClient = Caffeine.newBuilder()
                .maximumSize(MAX_CLIENTS)
                .expireAfterWrite(TIME)
                .build();
    }

    /**
     * Failures to record in one event.
     *
     * @param address null for all other addresses together
     */
    record Failures(@Nullable String address, long count, Instant from, Instant to) {}

    boolean tooMany(String address) {
        AtomicInteger count = byClient.getIfPresent(ClientAddress.of(address));
        return count != null && count.get() >= most;
    }

    static ProblemException problem() {
        return new ProblemException(Problem.of(
                        ProblemType.TOO_MANY_FAILURES,
                        "Too many requests from this address had no valid token. Send a valid one, or try again later.")
                .withRetryAfter(TIME));
    }

    void add(String address) {
        byClient.get(ClientAddress.of(address), first -> new AtomicInteger()).incrementAndGet();
        add(address, 1);
    }

    private synchronized void add(@Nullable String address, long count) {
        if (address != null && (byAddress.size() < MAX_ADDRESSES || byAddress.containsKey(address))) {
            byAddress.merge(address, count, Long::sum);
        } else {
            others += count;
        }
    }

    /** Returns the failures since the last call. */
    synchronized List<Failures> take() {
        Instant now = Instant.now();
        List<Failures> taken = new ArrayList<>();
        List<Map.Entry<String, Long>> most = byAddress.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .toList();
        for (Map.Entry<String, Long> one : most) {
            if (taken.size() < EVENTS) {
                taken.add(new Failures(one.getKey(), one.getValue(), since, now));
            } else {
                others += one.getValue();
            }
        }
        if (others > 0) {
            taken.add(new Failures(null, others, since, now));
        }
        byAddress = new LinkedHashMap<>();
        others = 0;
        since = now;
        return taken;
    }

    /** For failures that could not be recorded. The next {@link #take} includes them. */
    synchronized void giveBack(List<Failures> taken) {
        for (Failures failures : taken) {
            add(failures.address(), failures.count());
            since = since.isBefore(failures.from()) ? since : failures.from();
        }
    }
}
