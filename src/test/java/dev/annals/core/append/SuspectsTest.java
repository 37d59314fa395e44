package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** For how long lanes are written apart, by a clock of the test. */
class SuspectsTest {

    private final AppendQueue.Key lane = new AppendQueue.Key(UUID.randomUUID(), false);
    private long now = Long.MAX_VALUE - Duration.ofSeconds(5).toNanos();
    private final Suspects suspects = new Suspects(() -> now);

    private void pass(Duration time) {
        now += time.toNanos();
    }

    /** How many seconds it takes until the lane is no suspect any more. */
    private int secondsLeft() {
        int seconds = 0;
        for (; suspects.contains(lane); seconds++) {
            pass(Duration.ofSeconds(1));
        }
        return seconds;
    }

    @Test
    void oneFailureIsForgottenSoon() {
        assertThat(suspects.contains(lane)).isFalse();
        suspects.add(lane);
        assertThat(suspects.contains(lane)).isTrue();
        assertThat(suspects.contains(new AppendQueue.Key(UUID.randomUUID(), false)))
                .isFalse();
        assertThat(secondsLeft()).isEqualTo(2);
        pass(Duration.ofMinutes(1));
        suspects.add(lane);
        assertThat(secondsLeft()).isEqualTo(2);
    }

    @Test
    void whoFailsAgainAndAgainIsASuspectForTwiceAsLongEachTimeUpToAMinute() {
        int[] seconds = new int[9];
        for (int i = 0; i < seconds.length; i++) {
            suspects.add(lane);
            seconds[i] = secondsLeft();
        }
        assertThat(seconds).containsExactly(2, 3, 5, 9, 17, 33, 61, 61, 61);
    }

    @Test
    void failuresInTheMeantimeBeginTheTimeAnewAndDoNotDoubleIt() {
        for (int i = 0; i < 100; i++) {
            suspects.add(lane);
            pass(Duration.ofMillis(500));
            assertThat(suspects.contains(lane)).isTrue();
        }
        assertThat(secondsLeft()).isEqualTo(1);
    }
}
