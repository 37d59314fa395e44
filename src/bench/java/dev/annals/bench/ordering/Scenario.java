package dev.annals.bench.ordering;

import java.time.Duration;

/**
 * A load.
 *
 * @param rows records a transaction
 * @param projects among which each transaction chooses one at random
 * @param writers connections that write without pause
 * @param held how long a transaction stays open after its insert
 * @param slowCommit whether a commit takes a millisecond longer, as on a disk behind a network
 */
public record Scenario(int rows, int projects, int writers, Duration held, boolean slowCommit) {

    /** On the disk as it is. */
    public static Scenario of(int rows, int projects, int writers) {
        return new Scenario(rows, projects, writers, Duration.ZERO, false);
    }

    Scenario withSlowCommit() {
        return new Scenario(rows, projects, writers, held, true);
    }

    Scenario withHeld(Duration duration) {
        return new Scenario(rows, projects, writers, duration, slowCommit);
    }

    /** Settings of each writer's session. */
    String settings() {
        return slowCommit ? "set commit_delay = 1000; set commit_siblings = 0" : "set commit_delay = 0";
    }

    @Override
    public String toString() {
        return plural(rows, "row") + " per transaction, " + plural(projects, "project") + ", "
                + plural(writers, "writer")
                + (held.isZero() ? "" : ", open " + held.toMillis() + " ms after the insert")
                + (slowCommit ? ", a commit of 1 ms" : "");
    }

    static String plural(int count, String noun) {
        return count + " " + noun + (count == 1 ? "" : "s");
    }
}
