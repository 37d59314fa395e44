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

/** Intervals of time in UTC, from the finest on. Moments are in seconds since 1970. */
enum Interval {
    MINUTE,
    HOUR,
    DAY,
    /** From Monday on. */
    WEEK,
    MONTH,
    YEAR;

    private static final long DAY_SECONDS = 86_400;

    /** Its name in parameters and answers, and for PostgreSQL. */
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

    /** By what to count while it is not known whether the intervals have to become longer: a week may be in two months. */
    Interval counted() {
        return this == WEEK ? DAY : this;
    }

    /** The beginning of the one that has this moment. */
    long start(long moment) {
        return switch (this) {
            case MINUTE -> moment - Math.floorMod(moment, 60L);
            case HOUR -> moment - Math.floorMod(moment, 3_600L);
            case DAY -> moment - Math.floorMod(moment, DAY_SECONDS);
            case WEEK, MONTH, YEAR -> firstDay(moment).toEpochDay() * DAY_SECONDS;
        };
    }

    /** How many there are from the one that has the first moment to the one that has the last. */
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

    /** The finest one, from this on, of which there are at most so many; or years, however many there are. */
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
