package dev.annals.follower;

import java.time.Duration;

/** The pauses between retries: as long as the service asks for, otherwise doubling. Not safe for several threads. */
public final class Pauses {

    private static final Duration SHORTEST = Duration.ofMillis(100);
    private static final Duration LONGEST = Duration.ofSeconds(5);
    /** Limits what the service asks for. */
    private static final Duration LONGEST_ASKED_FOR = Duration.ofSeconds(30);

    private Duration next = SHORTEST;

    public void worked() {
        next = SHORTEST;
    }

    public Duration after(Unavailable failure) {
        Duration pause = next;
        next = shorter(next.multipliedBy(2), LONGEST);
        String asked = failure.retryAfter();
        return asked != null && asked.matches("\\d{1,6}")
                ? shorter(Duration.ofSeconds(Long.parseLong(asked)), LONGEST_ASKED_FOR)
                : pause;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
