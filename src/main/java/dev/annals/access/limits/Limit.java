package dev.annals.access.limits;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** The kinds of limits of projects and tokens. Each instance of the service counts on its own. */
public enum Limit {
    RECORDS_PER_SECOND("records", "records", 1, 1_000_000),
    /** After decompression. */
    BYTES_PER_SECOND("bytes", "content-bytes", 1, 1_000_000_000),
    REQUESTS_PER_SECOND("requests", "requests", 1, 1_000_000),
    /** Open streams and waiting long polls. */
    STREAMS("streams", "concurrent-requests", 0, 1_000_000),
    EXPORTS("exports", "concurrent-requests", 0, 1_000_000),
    /** Of a record's time, before the service's clock. No amount is used up. */
    SECONDS_AHEAD("seconds-ahead", "seconds", 0, 31_536_000);

    private final String noun;
    private final String unit;
    private final long least;
    private final long most;

    Limit(String noun, String unit, long least, long most) {
        this.noun = noun;
        this.unit = unit;
        this.least = least;
        this.most = most;
    }

    /** In JSON and in the database. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** In names of policies and messages. */
    String noun() {
        return noun;
    }

    /** In {@code RateLimit-Policy}. */
    String unit() {
        return unit;
    }

    public long least() {
        return least;
    }

    public long most() {
        return most;
    }

    /** False for a number at a time. */
    boolean isRate() {
        return this != STREAMS && this != EXPORTS;
    }

    /** Whether callers use it up. */
    boolean isQuota() {
        return this != SECONDS_AHEAD;
    }

    static Optional<Limit> of(String text) {
        return Arrays.stream(values())
                .filter(limit -> limit.text().equals(text))
                .findFirst();
    }
}
