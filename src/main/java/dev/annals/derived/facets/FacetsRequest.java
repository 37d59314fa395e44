package dev.annals.derived.facets;

import dev.annals.access.caller.Caller;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.kernel.http.RequestParameters;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A request for facets.
 *
 * @param interval null for the shortest that gives few enough intervals
 * @param top the number of values of each field
 * @param paths values of the metadata to count, too
 */
record FacetsRequest(Filter filter, @Nullable Interval interval, int top, List<MetadataPath> paths) {

    /** A path in the metadata, and its text, as in a query. */
    record MetadataPath(String text, List<String> names) {}

    static final String INTERVAL = "interval";
    private static final String TOP = "top";
    private static final String METADATA = "metadata";
    private static final List<String> KNOWN = Stream.concat(
                    Stream.of(INTERVAL, TOP, METADATA), FeedQuery.FILTERS.stream())
            .toList();
    private static final int DEFAULT_TOP = 10;
    private static final int MAX_TOP = 100;
    /** {@code count_facets.sql} has a column for each. */
    static final int MAX_PATHS = 4;

    private static final int MAX_PATH = 200;
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

    /** @throws dev.annals.kernel.http.ProblemException {@code invalid-parameter} */
    static FacetsRequest read(MultivaluedMap<String, String> parameters, FeedConfig config, Caller caller) {
        RequestParameters.requireKnown(parameters, KNOWN);
        MultivaluedMap<String, String> filters = new MultivaluedHashMap<>(parameters);
        filters.remove(INTERVAL);
        filters.remove(TOP);
        filters.remove(METADATA);
        return new FacetsRequest(
                FeedQuery.read(filters, config, caller).filter(),
                interval(parameters.getFirst(INTERVAL)),
                top(parameters.getFirst(TOP)),
                paths(parameters.getFirst(METADATA)));
    }

    private static List<MetadataPath> paths(@Nullable String given) {
        if (given == null) {
            return List.of();
        }
        List<MetadataPath> paths = Stream.of(given.split(",", MAX_PATHS + 1))
                .distinct()
                .flatMap(text -> path(text).stream().map(names -> new MetadataPath(text, names)))
                .toList();
        if (paths.size() > MAX_PATHS || paths.size() < given.split(",", -1).length) {
            throw RequestParameters.invalid(
                    METADATA,
                    "It is 1 to " + MAX_PATHS
                            + " different paths, as in a query, separated by commas: metadata.region,metadata.http.status.");
        }
        return paths;
    }

    /** A text is a path if the query for a value at this path says so. */
    private static Optional<List<String>> path(String text) {
        try {
            return text.length() <= MAX_PATH
                            && text.equals(text.strip())
                            && QueryParser.parse(text + ":\"x\"", null) instanceof Query.Metadata found
                            && found.value().equals("x")
                    ? Optional.of(found.path())
                    : Optional.empty();
        } catch (QueryException e) {
            return Optional.empty();
        }
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
