package dev.annals.access.openid;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A value of the provider is cached, fetched anew where it does not serve, and not fetched more often than the interval says. */
class CachedFetchTest {

    private static final Duration FRESH = Duration.ofMinutes(10);
    private static final Duration OUTAGE = Duration.ofHours(4);
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    private final AtomicLong clock = new AtomicLong();
    private final AtomicInteger fetches = new AtomicInteger();
    private boolean away;
    private final CachedFetch<Integer> cached = new CachedFetch<>(
            "It",
            () -> {
                int fetch = fetches.incrementAndGet();
                return away
                        ? Uni.createFrom().failure(new IllegalStateException("away"))
                        : Uni.createFrom().item(fetch);
            },
            FRESH,
            OUTAGE,
            INTERVAL,
            clock::get);

    /** Fetches that end when the test says so. */
    private final List<UniEmitter<? super Integer>> emitters = new ArrayList<>();

    private final CachedFetch<Integer> slow = new CachedFetch<>(
            "It", () -> Uni.createFrom().<Integer>emitter(emitters::add), FRESH, OUTAGE, INTERVAL, clock::get);
    private final List<Integer> answers = new ArrayList<>();

    @Test
    void aFreshValueIsNotFetchedAgain() {
        assertThat(get(1)).isEqualTo(1);
        pass(FRESH.minusNanos(1));
        assertThat(get(1)).isEqualTo(1);
        assertThat(fetches).hasValue(1);
    }

    @Test
    void aCallerThatNeedsAnotherValueWaitsForIt() {
        assertThat(get(1)).isEqualTo(1);
        pass(INTERVAL);
        assertThat(get(2)).isEqualTo(2);
        // The new value takes the place of the old one.
        assertThat(get(1)).isEqualTo(2);
        assertThat(fetches).hasValue(2);
    }

    @Test
    void aValueThatDoesNotExistIsFetchedOnceAnInterval() {
        assertThat(get(1)).isEqualTo(1);
        for (int i = 0; i < 100; i++) {
            assertThat(get(99)).isEqualTo(1);
        }
        assertThat(fetches).hasValue(1);
        pass(INTERVAL);
        for (int i = 0; i < 100; i++) {
            assertThat(get(99)).isEqualTo(2);
        }
        assertThat(fetches).hasValue(2);
    }

    /** A key that was withdrawn does not count once more because no request came meanwhile. */
    @Test
    void aValueThatIsNotFreshCountsNoMoreBeforeItIsFetched() {
        assertThat(get(1)).isEqualTo(1);
        pass(FRESH);
        assertThat(get(1)).isEqualTo(2);

        ask();
        emitters.get(0).complete(1);
        pass(FRESH);
        ask();
        ask();
        assertThat(answers).containsExactly(1);
        emitters.get(1).complete(2);
        assertThat(answers).containsExactly(1, 2, 2);
    }

    @Test
    void aValueThatCannotBeFetchedAgainCountsForTheOutageAndNoLonger() {
        get(1);
        away = true;
        pass(FRESH);
        assertThat(get(1)).isEqualTo(1);
        // A key that no token named so far is not refused as unknown: the provider could not be asked.
        assertThatThrownBy(() -> get(99)).hasCauseInstanceOf(CachedFetch.Missing.class);
        pass(OUTAGE.minusNanos(1));
        assertThat(get(1)).isEqualTo(1);
        pass(INTERVAL);
        assertThatThrownBy(() -> get(1)).hasCauseInstanceOf(CachedFetch.Missing.class);
        pass(INTERVAL);
        away = false;
        assertThat(get(1)).isPositive();
    }

    @Test
    void noCallerWaitsForTheNextAttemptDuringAnOutageAndTheFirstOneAfterAQuietTimeDoes() {
        ask();
        emitters.get(0).complete(1);
        pass(FRESH);
        ask();
        assertThat(answers).containsExactly(1);
        emitters.get(1).fail(new IllegalStateException("away"));
        assertThat(answers).containsExactly(1, 1);

        pass(INTERVAL);
        ask();
        assertThat(emitters).hasSize(3);
        assertThat(answers).containsExactly(1, 1, 1);
        emitters.get(2).fail(new IllegalStateException("away"));

        pass(INTERVAL.multipliedBy(2));
        ask();
        assertThat(answers).containsExactly(1, 1, 1);
        emitters.get(3).complete(2);
        assertThat(answers).containsExactly(1, 1, 1, 2);
    }

    @Test
    void callersShareAFetch() {
        ask();
        ask();
        ask();
        assertThat(emitters).hasSize(1);
        assertThat(answers).isEmpty();
        emitters.get(0).complete(7);
        assertThat(answers).containsExactly(7, 7, 7);
    }

    private void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    private void ask() {
        slow.get(value -> true).subscribe().with(answers::add);
    }

    private Integer get(int least) {
        return cached.get(value -> value >= least).await().atMost(Duration.ofSeconds(10));
    }
}
