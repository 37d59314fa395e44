package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;

/** Waits for what others do: as long as that takes on any machine, up to a limit that only a fault reaches. */
public final class Await {

    private static final long LIMIT_SECONDS = 60;
    private static final long SHORTEST_PAUSE_MILLIS = 5;
    private static final long LONGEST_PAUSE_MILLIS = 50;

    private Await() {}

    /** A condition that becomes true. */
    public interface Condition {
        boolean holds() throws Exception;
    }

    /**
     * Polls until the condition holds. The pauses between polls grow, because polling takes processor time from the awaited work.
     */
    public static void until(String what, Condition condition) throws Exception {
        long start = System.nanoTime();
        while (!condition.holds()) {
            long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            assertThat(waited)
                    .as("milliseconds of waiting: %s, within %d seconds", what, LIMIT_SECONDS)
                    .isLessThan(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
            TimeUnit.MILLISECONDS.sleep(Math.max(SHORTEST_PAUSE_MILLIS, Math.min(waited / 10, LONGEST_PAUSE_MILLIS)));
        }
    }
}
