package dev.annals.openid;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What a provider says is kept, fetched anew where it does not serve, and not fetched more often than it may be. */
class KeptTest {

    private static final Duration AGES = Duration.ofHours(1);
    private static final Duration NONE = Duration.ofNanos(1);

    private final AtomicInteger fetches = new AtomicInteger();
    private boolean away;

    @Test
    void whatIsFreshIsNotFetchedAgain() {
        Kept<Integer> kept = kept(AGES, AGES, NONE);
        assertThat(get(kept, 1)).isEqualTo(1);
        assertThat(get(kept, 1)).isEqualTo(1);
        assertThat(fetches).hasValue(1);
    }

    @Test
    void whoeverNeedsMoreThanIsKnownWaitsForIt() {
        Kept<Integer> kept = kept(AGES, AGES, NONE);
        assertThat(get(kept, 1)).isEqualTo(1);
        assertThat(get(kept, 2)).isEqualTo(2);
        // What is new takes the place of what was known.
        assertThat(get(kept, 1)).isEqualTo(2);
        assertThat(fetches).hasValue(2);
    }

    @Test
    void whatIsAskedForInVainIsFetchedOnceAnInterval() {
        Kept<Integer> kept = kept(AGES, AGES, AGES);
        assertThat(get(kept, 1)).isEqualTo(1);
        for (int i = 0; i < 100; i++) {
            assertThat(get(kept, 99)).isEqualTo(1);
        }
        assertThat(fetches).hasValue(1);
    }

    @Test
    void whatIsNotFreshServesWhileItIsRenewed() {
        Kept<Integer> kept = kept(NONE, AGES, NONE);
        assertThat(get(kept, 1)).isEqualTo(1);
        assertThat(get(kept, 1)).isEqualTo(1);
        assertThat(get(kept, 1)).isEqualTo(2);
    }

    @Test
    void whatCannotBeRenewedServesForTheOutageAndNoLonger() {
        Kept<Integer> lasting = kept(NONE, AGES, NONE);
        Kept<Integer> ending = kept(NONE, NONE, NONE);
        get(lasting, 1);
        get(ending, 1);
        away = true;
        assertThat(get(lasting, 1)).isEqualTo(1);
        assertThat(get(lasting, 1)).isEqualTo(1);
        assertThatThrownBy(() -> get(ending, 1)).hasCauseInstanceOf(Kept.Missing.class);
        // A key that nobody has named so far is not refused as unknown: the provider could not be asked.
        assertThatThrownBy(() -> get(lasting, 99)).hasCauseInstanceOf(Kept.Missing.class);
        away = false;
        assertThat(get(ending, 1)).isPositive();
    }

    @Test
    void whoeverComesMeanwhileSharesTheFetch() {
        List<UniEmitter<? super Integer>> emitters = new ArrayList<>();
        Kept<Integer> kept = new Kept<>("It", () -> Uni.createFrom().<Integer>emitter(emitters::add), AGES, AGES, NONE);
        List<Integer> answers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            kept.get(value -> true).subscribe().with(answers::add);
        }
        assertThat(emitters).hasSize(1);
        assertThat(answers).isEmpty();
        emitters.get(0).complete(7);
        assertThat(answers).containsExactly(7, 7, 7);
    }

    private Kept<Integer> kept(Duration fresh, Duration outage, Duration interval) {
        Supplier<Uni<Integer>> fetch = () -> away
                ? Uni.createFrom().failure(new IllegalStateException("away"))
                : Uni.createFrom().item(fetches.incrementAndGet());
        return new Kept<>("It", fetch, fresh, outage, interval);
    }

    private static Integer get(Kept<Integer> kept, int least) {
        return kept.get(value -> value >= least).await().atMost(Duration.ofSeconds(10));
    }
}
