package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;

/** Waits for what others do: as long as that takes on any machine, up to a limit that only a fault reaches. */
public final class Await {

    private static final long LIMIT_SECONDS = 60;
    private static final long SHORTEST_PAUSE_MILLIS = 5;
    private static final long LONGEST_PAUSE_MILLIS = 50;

    private Await() {}

    /** What is waited for. */
    public interface Condition {
        boolean holds() throws Exception;
    }

    /**
     * Looks again and again until the condition holds. What has taken long may take a little longer: to look all the time takes
     * a processor from what is waited for.
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
