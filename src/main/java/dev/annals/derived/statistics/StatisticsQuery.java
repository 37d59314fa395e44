package dev.annals.derived.statistics;

import dev.annals.kernel.http.RequestParameters;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A request for statistics.
 *
 * @param start the first day, in UTC; null for the first day with records
 * @param end the day after the last one; null for the last day with records
 * @param by at least one
 */
record StatisticsQuery(@Nullable LocalDate start, @Nullable LocalDate end, Set<Dimension> by) {

    /** In the order in which results are sorted. */
    enum Dimension {
        DAY,
        ACTION,
        ACTOR,
        OUTCOME;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final Pattern DAY =
            Pattern.compile("([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T00:00(?::00(?:\\.0{1,9})?)?Z)?");
    private static final List<String> KNOWN = List.of("start", "end", "by");
    private static final String DIMENSIONS =
            Arrays.stream(Dimension.values()).map(Dimension::text).collect(Collectors.joining(", "));

    /** @throws dev.annals.kernel.http.ProblemException {@code invalid-parameter} */
    static StatisticsQuery read(MultivaluedMap<String, String> parameters) {
        RequestParameters.requireKnown(parameters, KNOWN);
        LocalDate start = day("start", parameters.getFirst("start"));
        LocalDate end = day("end", parameters.getFirst("end"));
        if (start != null && end != null && end.isBefore(start)) {
            throw RequestParameters.invalid("end", "It is before start, so there is nothing between them.");
        }
        return new StatisticsQuery(start, end, dimensions(parameters.getFirst("by")));
    }

    private static @Nullable LocalDate day(String name, @Nullable String text) {
        if (text == null) {
            return null;
        }
        var matcher = DAY.matcher(text);
        try {
            if (matcher.matches() && !text.startsWith("0000")) {
                return LocalDate.parse(matcher.group(1));
            }
        } catch (DateTimeException e) {
            // answered below
        }
        throw RequestParameters.invalid(
                name, "It is a day in UTC, such as 2026-01-31 or 2026-01-31T00:00:00Z, in the years 0001 to 9999.");
    }

    private static Set<Dimension> dimensions(@Nullable String text) {
        Set<Dimension> by = EnumSet.noneOf(Dimension.class);
        for (String name : text == null ? new String[] {"day"} : text.split(",", -1)) {
            Dimension found = Arrays.stream(Dimension.values())
                    .filter(dimension -> dimension.text().equals(name))
                    .findFirst()
                    .orElse(null);
            if (found == null || !by.add(found)) {
                throw RequestParameters.invalid(
                        "by", "It names some of " + DIMENSIONS + ", each once, separated by commas.");
            }
        }
        return by;
    }
}
