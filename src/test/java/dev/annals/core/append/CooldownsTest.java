package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Queues cool down longer each time, by a clock of the test. */
class CooldownsTest {

    private final AppendQueue.Key queue = new AppendQueue.Key(UUID.randomUUID(), false);
    private long now = Long.MAX_VALUE - Duration.ofSeconds(5).toNanos();
    private final AppendQueue.Cooldowns cooldowns = new AppendQueue.Cooldowns(() -> now);

    private void pass(Duration time) {
        now += time.toNanos();
    }

    /** Returns the seconds until the queue shares batches again. */
    private int secondsLeft() {
        int seconds = 0;
        for (; cooldowns.contains(queue); seconds++) {
            pass(Duration.ofSeconds(1));
        }
        return seconds;
    }

    @Test
    void oneFailureIsForgottenSoon() {
        assertThat(cooldowns.contains(queue)).isFalse();
        cooldowns.add(queue);
        assertThat(cooldowns.contains(queue)).isTrue();
        assertThat(cooldowns.contains(new AppendQueue.Key(UUID.randomUUID(), false)))
                .isFalse();
        assertThat(secondsLeft()).isEqualTo(2);
        pass(Duration.ofMinutes(1));
        cooldowns.add(queue);
        assertThat(secondsLeft()).isEqualTo(2);
    }

    @Test
    void aQueueThatFailsAgainAndAgainCoolsDownTwiceAsLongEachTimeUpToAMinute() {
        int[] seconds = new int[9];
        for (int i = 0; i < seconds.length; i++) {
            cooldowns.add(queue);
            seconds[i] = secondsLeft();
        }
        assertThat(seconds).containsExactly(2, 3, 5, 9, 17, 33, 61, 61, 61);
    }

    @Test
    void failuresDuringTheCooldownRestartItAndDoNotDoubleIt() {
        for (int i = 0; i < 100; i++) {
            cooldowns.add(queue);
            pass(Duration.ofMillis(500));
            assertThat(cooldowns.contains(queue)).isTrue();
        }
        assertThat(secondsLeft()).isEqualTo(1);
    }
}
