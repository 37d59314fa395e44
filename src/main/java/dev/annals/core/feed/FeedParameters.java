package dev.annals.core.feed;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.View;
import dev.annals.core.query.Filter;
import dev.annals.core.query.Order;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.kernel.http.IpAddress;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestParameters;
import dev.annals.kernel.http.Timestamps;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the query parameters of a feed. */
public final class FeedParameters {

    /** The parameter that says where to begin. */
    public static final String CURSOR = "cursor";

    /** The parameter that says which way. */
    public static final String ORDER = "order";

    /** The parameter that says how long to wait. */
    public static final String WAIT = "wait";

    /** The parameter that asks for a proof: the size of the checkpoint. */
    public static final String PROOF = "proof";

    /** The header with the sequence id of a record that the reader knows of. */
    public static final String SEEN = "Annals-Sequence-Id";

    static final String LIMIT = "limit";
    /** The parameters that choose records. */
    public static final List<String> FILTERS =
            List.of("start", "end", "action", "actor", "subject", "outcome", "ip_address", "q", "recorded_by");

    /** As the contract of the API says; one page costs the database little then. */
    private static final int DEFAULT_LIMIT = 200;
    /** As the contract of the API says; readers who want more follow {@code next}. */
    private static final int MAX_LIMIT = 1_000;

    private static final List<String> KNOWN = Stream.concat(
                    Stream.of(CURSOR, LIMIT, ORDER, WAIT, PROOF), FILTERS.stream())
            .toList();
    private static final String DESCENDING = "desc";
    private static final int MAX_FILTER_LENGTH = 1024;
    private static final Pattern SIZE_TEXT = Pattern.compile("0|[1-9][0-9]{0,17}");
    private static final Pattern LIMIT_TEXT = Pattern.compile("[0-9]{1,9}");
    private static final Pattern TOKEN = Pattern.compile(
            "(token|identity):[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}");
    /** Names in PostgreSQL have at most 63 bytes. */
    private static final Pattern ROLE = Pattern.compile("role:[^\\x00]{1,63}");

    private final MultivaluedMap<String, String> parameters;
    private final FeedConfig config;
    private final @Nullable View view;
    private final @Nullable OffsetDateTime now;

    private FeedParameters(
            MultivaluedMap<String, String> parameters,
            FeedConfig config,
            @Nullable View view,
            @Nullable OffsetDateTime now) {
        this.now = now;
        this.parameters = parameters;
        this.config = config;
        this.view = view;
    }

    /**
     * Reads the parameters of a page.
     *
     * @param caller whose link may show some records only: then the query asks for no others
     * @throws ProblemException {@code invalid-parameter} or {@code invalid-cursor}
     */
    public static FeedQuery read(MultivaluedMap<String, String> parameters, FeedConfig config, Caller caller) {
        return new FeedParameters(parameters, config, caller.view(), now()).feedQuery();
    }

    /**
     * The filter of these parameters for a client that follows a feed: each call moves the range of {@code last:} on to the moment.
     *
     * @throws ProblemException {@code invalid-parameter}
     */
    public static Supplier<Filter> moving(MultivaluedMap<String, String> parameters, FeedConfig config, Caller caller) {
        OffsetDateTime now = now();
        Filter filter = new FeedParameters(parameters, config, caller.view(), now).filter();
        boolean moves =
                !filter.equals(new FeedParameters(parameters, config, caller.view(), now.plusSeconds(1)).filter());
        return moves ? () -> new FeedParameters(parameters, config, caller.view(), now()).filter() : () -> filter;
    }

    /** Whole seconds, so that clients who ask for the same within one share a read. */
    private static OffsetDateTime now() {
        return OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS);
    }

    /**
     * Reads the parameters that choose records, for what follows a whole feed, and outlives what {@code last:} would mean.
     *
     * @throws ProblemException {@code invalid-parameter}
     */
    public static Filter filter(MultivaluedMap<String, String> parameters, FeedConfig config) {
        RequestParameters.requireKnown(parameters, FILTERS);
        return new FeedParameters(parameters, config, null, null).filter();
    }

    /**
     * Reads the size of the checkpoint that a page is to be proved by.
     *
     * @return null if no proof is asked for
     * @throws ProblemException {@code invalid-parameter} if it is no size, or if the page has filters, an order or a wait
     */
    public static @Nullable Long proof(MultivaluedMap<String, String> parameters) {
        String size = parameters.getFirst(PROOF);
        if (size == null) {
            return null;
        }
        if (!SIZE_TEXT.matcher(size).matches()) {
            throw RequestParameters.invalid(PROOF, "It is the size of a checkpoint: how many records the log had.");
        }
        Stream.concat(FILTERS.stream(), Stream.of(ORDER, WAIT))
                .filter(parameters::containsKey)
                .findFirst()
                .ifPresent(other -> {
                    throw RequestParameters.invalid(
                            PROOF,
                            "A page is proved to leave nothing out; with " + other
                                    + " it does. Read the pages without it, and choose from their records.");
                });
        return Long.parseLong(size);
    }

    /**
     * Reads the header {@link #SEEN}.
     *
     * @return 0 if there is none
     * @throws ProblemException {@code invalid-parameter} if it is no sequence id, or is given twice
     */
    public static long seen(HttpServerRequest request) {
        // Not by @HeaderParam, for which an empty header is none.
        List<String> values = request.headers().getAll(SEEN);
        if (values.isEmpty()) {
            return 0;
        }
        if (values.size() > 1 || !SIZE_TEXT.matcher(values.get(0)).matches()) {
            throw RequestParameters.invalid(
                    SEEN, "It is the sequence id of a record, such as an answer to a write has.");
        }
        return Long.parseLong(values.get(0));
    }

    private FeedQuery feedQuery() {
        RequestParameters.requireKnown(parameters, KNOWN);
        Order order = order();
        Filter filter = filter();
        String cursor = parameters.getFirst(CURSOR);
        if (cursor == null) {
            return new FeedQuery(order, null, null, limit(), config.pageBytes(), filter);
        }
        if (order == Order.ASCENDING) {
            return new FeedQuery(order, cursor(cursor), null, limit(), config.pageBytes(), filter);
        }
        int dot = cursor.indexOf('.');
        return dot < 0
                ? new FeedQuery(order, cursor(cursor), null, limit(), config.pageBytes(), filter)
                : new FeedQuery(
                        order,
                        cursor(cursor.substring(0, dot)),
                        cursor(cursor.substring(dot + 1)),
                        limit(),
                        config.pageBytes(),
                        filter);
    }

    private Filter filter() {
        OffsetDateTime start = time("start");
        OffsetDateTime end = time("end");
        requireOrder(start, end);
        Filter filter = new Filter(
                start,
                end,
                text("action"),
                text("actor"),
                text("subject"),
                text("outcome"),
                ipAddress(),
                null,
                recordedBy(),
                view == null ? null : view.actorId(),
                view == null ? null : view.subjectId(),
                null);
        Query query = query();
        return query == null ? filter : filter.and(query);
    }

    private Order order() {
        String order = parameters.getFirst(ORDER);
        if (order == null || order.equals("asc")) {
            return Order.ASCENDING;
        }
        if (order.equals(DESCENDING)) {
            return Order.DESCENDING;
        }
        throw RequestParameters.invalid(ORDER, "It is asc (oldest first, the default) or desc.");
    }

    private int limit() {
        String limit = parameters.getFirst(LIMIT);
        if (limit == null) {
            return DEFAULT_LIMIT;
        }
        if (LIMIT_TEXT.matcher(limit).matches()) {
            int value = Integer.parseInt(limit);
            if (value >= 1 && value <= MAX_LIMIT) {
                return value;
            }
        }
        throw RequestParameters.invalid(LIMIT, "It is a number from 1 to " + MAX_LIMIT + ".");
    }

    /**
     * Reads a cursor.
     *
     * @throws ProblemException {@code invalid-cursor}
     */
    public static Cursor cursor(String text) {
        return Cursor.parse(text)
                .orElseThrow(() -> new ProblemException(
                        ProblemType.INVALID_CURSOR,
                        "This is not a cursor. Use the link next or poll_more of a page unchanged, or leave cursor out to"
                                + " start over."));
    }

    private @Nullable String text(String name) {
        String value = parameters.getFirst(name);
        if (value == null) {
            return null;
        }
        if (value.isEmpty() || value.length() > MAX_FILTER_LENGTH || value.indexOf('\0') >= 0) {
            throw RequestParameters.invalid(
                    name, "It has 1 to " + MAX_FILTER_LENGTH + " characters, and no NUL character.");
        }
        return value;
    }

    private @Nullable String ipAddress() {
        String value = parameters.getFirst("ip_address");
        if (value == null) {
            return null;
        }
        String address = IpAddress.canonical(value);
        if (address == null) {
            throw RequestParameters.invalid(
                    "ip_address", "It is an IPv4 or IPv6 address, without prefix length and without zone.");
        }
        return address;
    }

    private @Nullable Query query() {
        String value = parameters.getFirst("q");
        if (value == null) {
            return null;
        }
        try {
            return QueryParser.parse(value, now);
        } catch (QueryException e) {
            throw new ProblemException(RequestParameters.invalid("q", "At " + e.getMessage() + ".")
                    .problem()
                    .with("position", e.position()));
        }
    }

    private @Nullable String recordedBy() {
        String value = parameters.getFirst("recorded_by");
        if (value == null || ROLE.matcher(value).matches()) {
            return value;
        }
        if (TOKEN.matcher(value).matches()) {
            return value.toLowerCase(Locale.ROOT);
        }
        throw RequestParameters.invalid(
                "recorded_by",
                "It is token: or identity: and an id, or role: and the name of a database role, as records show it.");
    }

    private @Nullable OffsetDateTime time(String name) {
        String value = parameters.getFirst(name);
        if (value == null) {
            return null;
        }
        OffsetDateTime time = Timestamps.parseInput(value);
        if (time != null) {
            return time;
        }
        throw RequestParameters.invalid(
                name,
                "It is a date and time as in RFC 3339, such as 2025-09-03T11:15:19Z, or a date alone, in the years 0001 to 9999.");
    }

    private static void requireOrder(@Nullable OffsetDateTime start, @Nullable OffsetDateTime end) {
        if (start != null && end != null && end.isBefore(start)) {
            throw RequestParameters.invalid("end", "It is before start, so there is nothing between them.");
        }
    }
}
