package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;

/** Waits for what others do: as long as that takes on any machine, up to a limit that only a fault reaches. */
public final class Await {

    private static final long LIMIT_SECONDS = 60;
    private static final long PAUSE_MILLIS = 5;

    private Await() {}

    /** What is waited for. */
    public interface Condition {
        boolean holds() throws Exception;
    }

    /** Looks again and again until the condition holds. */
    public static void until(String what, Condition condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.holds()) {
            assertThat(System.nanoTime() - end)
                    .as("%s, within %d seconds", what, LIMIT_SECONDS)
                    .isNegative();
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        }
    }
}
