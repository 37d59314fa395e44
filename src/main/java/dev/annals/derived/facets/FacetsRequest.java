package dev.annals.derived.facets;

import dev.annals.access.caller.Caller;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.query.Filter;
import dev.annals.kernel.http.RequestParameters;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A request for facets.
 *
 * @param interval null for the shortest that gives few enough intervals
 * @param top the number of values of each field
 */
record FacetsRequest(Filter filter, @Nullable Interval interval, int top) {

    static final String INTERVAL = "interval";
    private static final String TOP = "top";
    private static final List<String> KNOWN =
            Stream.concat(Stream.of(INTERVAL, TOP), FeedQuery.FILTERS.stream()).toList();
    private static final int DEFAULT_TOP = 10;
    private static final int MAX_TOP = 100;
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

    /** @throws dev.annals.kernel.http.ProblemException {@code invalid-parameter} */
    static FacetsRequest read(MultivaluedMap<String, String> parameters, FeedConfig config, Caller caller) {
        RequestParameters.requireKnown(parameters, KNOWN);
        MultivaluedMap<String, String> filters = new MultivaluedHashMap<>(parameters);
        filters.remove(INTERVAL);
        filters.remove(TOP);
        return new FacetsRequest(
                FeedQuery.read(filters, config, caller).filter(),
                interval(parameters.getFirst(INTERVAL)),
                top(parameters.getFirst(TOP)));
    }

    private static @Nullable Interval interval(@Nullable String name) {
        return name == null
                ? null
                : Interval.named(name)
                        .orElseThrow(
                                () -> RequestParameters.invalid(INTERVAL, "It is one of " + Interval.names() + "."));
    }

    private static int top(@Nullable String number) {
        if (number == null) {
            return DEFAULT_TOP;
        }
        int top = NUMBER.matcher(number).matches() ? Integer.parseInt(number) : 0;
        if (top < 1 || top > MAX_TOP) {
            throw RequestParameters.invalid(TOP, "It is a number from 1 to " + MAX_TOP + ".");
        }
        return top;
    }
}
