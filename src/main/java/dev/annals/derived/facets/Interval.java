package dev.annals.derived.facets;

import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Intervals of time in UTC, the shortest first. Moments are in seconds since 1970. */
enum Interval {
    MINUTE,
    HOUR,
    DAY,
    /** Begins on Monday. */
    WEEK,
    MONTH,
    YEAR;

    private static final long DAY_SECONDS = 86_400;

    /** The name in parameters, in answers and in PostgreSQL. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<Interval> named(String text) {
        return Arrays.stream(values())
                .filter(interval -> interval.text().equals(text))
                .findFirst();
    }

    static String names() {
        return Arrays.stream(values()).map(Interval::text).collect(Collectors.joining(", "));
    }

    /** A week may be part of two months, so weeks are counted by day. */
    Interval counted() {
        return this == WEEK ? DAY : this;
    }

    long start(long moment) {
        return switch (this) {
            case MINUTE -> moment - Math.floorMod(moment, 60L);
            case HOUR -> moment - Math.floorMod(moment, 3_600L);
            case DAY -> moment - Math.floorMod(moment, DAY_SECONDS);
            case WEEK, MONTH, YEAR -> firstDay(moment).toEpochDay() * DAY_SECONDS;
        };
    }

    /** Includes the intervals of both moments. */
    long count(long first, long last) {
        long seconds = start(last) - start(first);
        return 1
                + switch (this) {
                    case MINUTE -> seconds / 60;
                    case HOUR -> seconds / 3_600;
                    case DAY -> seconds / DAY_SECONDS;
                    case WEEK -> seconds / (7 * DAY_SECONDS);
                    case MONTH -> ChronoUnit.MONTHS.between(firstDay(first), firstDay(last));
                    case YEAR -> ChronoUnit.YEARS.between(firstDay(first), firstDay(last));
                };
    }

    /** The shortest interval, not shorter than this one, that gives at most {@code most}; years if none does. */
    Interval atMost(int most, long first, long last) {
        return EnumSet.range(this, YEAR).stream()
                .filter(interval -> interval.count(first, last) <= most)
                .findFirst()
                .orElse(YEAR);
    }

    private LocalDate firstDay(long moment) {
        LocalDate day = LocalDate.ofEpochDay(Math.floorDiv(moment, DAY_SECONDS));
        return switch (this) {
            case MINUTE, HOUR, DAY -> day;
            case WEEK -> day.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
            case MONTH -> day.withDayOfMonth(1);
            case YEAR -> day.withDayOfYear(1);
        };
    }
}
