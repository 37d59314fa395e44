package dev.annals.core.feed;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.View;
import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.core.record.RecordEncoder;
import dev.annals.kernel.http.IpAddress;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestParameters;
import dev.annals.kernel.http.Timestamps;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The records that a client asks a feed for. The methods {@code read…} fail with {@code invalid-parameter} if a parameter is
 * unknown, malformed, or out of its range.
 *
 * @param cursor exclusive; null begins at the start of the feed, or at its head in descending order
 * @param head in descending order, the head that the first page saw, where {@code poll_more} continues; null on the first
 *     page
 * @param maxBytes of the encoded records, unless the first one alone has more
 * @param seen the sequence id that the page has to reach, because the client knows of it; 0 if it names none
 */
public record FeedQuery(
        Order order,
        @Nullable Cursor cursor,
        @Nullable Cursor head,
        int limit,
        int maxBytes,
        Filter filter,
        long seen,
        RecordEncoder.Format format) {

    public enum Order {
        ASCENDING,
        DESCENDING
    }

    public static final String CURSOR = "cursor";

    public static final String ORDER = "order";

    public static final String WAIT = "wait";

    /** The size of the checkpoint that proves the page. */
    public static final String PROOF = "proof";

    /** The header with a sequence id that the client knows of. */
    public static final String SEEN = "Annals-Sequence-Id";

    static final String LIMIT = "limit";

    public static final List<String> FILTERS =
            List.of("start", "end", "action", "actor", "subject", "outcome", "ip_address", "q", "recorded_by");

    static final int MAX_WAIT_SECONDS = 60;

    /** Bytes in memory and as JSON together. */
    public static final int LARGEST_RECORD = 1_048_576;

    /** Bytes that most records take at most, counted like {@link #LARGEST_RECORD}. */
    private static final int COMMON_RECORD = 8_192;

    private static final Pattern SIZE_TEXT = Pattern.compile("0|[1-9][0-9]{0,17}");
    private static final Pattern NUMBER_TEXT = Pattern.compile("[0-9]{1,9}");

    public FeedQuery(
            Order order, @Nullable Cursor cursor, @Nullable Cursor head, int limit, int maxBytes, Filter filter) {
        this(order, cursor, head, limit, maxBytes, filter, 0, RecordEncoder.Format.JSON);
    }

    /**
     * Reads the parameters of a page, limited to what the caller's link shows.
     *
     * @throws ProblemException also {@code invalid-cursor}
     */
    public static FeedQuery read(MultivaluedMap<String, String> parameters, FeedConfig config, Caller caller) {
        return new Parameters(parameters, caller.view(), Parameters.now()).query(config);
    }

    /** Refuses {@code last:} in {@code q}: it has no meaning for a whole feed. */
    public static Filter readFilter(MultivaluedMap<String, String> parameters) {
        RequestParameters.requireKnown(parameters, FILTERS);
        return new Parameters(parameters, null, null).filter();
    }

    /** Each call moves the range of {@code last:} on to the moment. */
    static Supplier<Filter> readMovingFilter(MultivaluedMap<String, String> parameters, Caller caller) {
        OffsetDateTime now = Parameters.now();
        Filter filter = new Parameters(parameters, caller.view(), now).filter();
        boolean moves = !filter.equals(new Parameters(parameters, caller.view(), now.plusSeconds(1)).filter());
        return moves ? () -> new Parameters(parameters, caller.view(), Parameters.now()).filter() : () -> filter;
    }

    /**
     * Null without a proof.
     *
     * @throws ProblemException also if the page has filters, an order or a wait
     */
    static @Nullable Long readProof(MultivaluedMap<String, String> parameters) {
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

    /** 0 if the request has no {@link #SEEN}. */
    static long readSeen(HttpServerRequest request) {
        // Not by @HeaderParam, which drops an empty header.
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

    /** Zero if the request does not wait. */
    static Duration readWait(MultivaluedMap<String, String> parameters, Order order) {
        String text = parameters.getFirst(WAIT);
        if (text == null) {
            return Duration.ZERO;
        }
        if (order == Order.DESCENDING) {
            throw RequestParameters.invalid(
                    WAIT,
                    "Nothing new can follow in the order desc. Leave it out here, and wait at the link poll_more.");
        }
        int seconds = NUMBER_TEXT.matcher(text).matches() ? Integer.parseInt(text) : 0;
        if (seconds < 1 || seconds > MAX_WAIT_SECONDS) {
            throw RequestParameters.invalid(WAIT, "It is a number of seconds from 1 to " + MAX_WAIT_SECONDS + ".");
        }
        return Duration.ofSeconds(seconds);
    }

    /**
     * Reads a cursor.
     *
     * @throws ProblemException {@code invalid-cursor}
     */
    public static Cursor readCursor(String text) {
        return Cursor.parse(text)
                .orElseThrow(() -> new ProblemException(
                        ProblemType.INVALID_CURSOR,
                        "This is not a cursor. Use the link next or poll_more of a page unchanged, or leave cursor out to"
                                + " start over."));
    }

    /** Bytes that a page takes at most while it is read and written. */
    public long memory() {
        return Math.min(memory(maxBytes), (long) limit * LARGEST_RECORD + LARGEST_RECORD);
    }

    /** Bytes to reserve before the sizes of the records are known. */
    public long firstMemory() {
        return Math.min(memory(), (long) limit * COMMON_RECORD + LARGEST_RECORD);
    }

    /** Bytes of memory for so many bytes of records, and the next record. */
    static long memory(long bytes) {
        return 2 * bytes + LARGEST_RECORD;
    }

    /** The inverse of {@link #memory(long)}. */
    static int bytesWithin(long memory) {
        return (int) Math.min(Integer.MAX_VALUE, Math.max(0, memory - LARGEST_RECORD) / 2);
    }

    public FeedQuery from(Cursor place) {
        return new FeedQuery(order, place, head, limit, maxBytes, filter, seen, format);
    }

    public FeedQuery with(Filter other) {
        return new FeedQuery(order, cursor, head, limit, maxBytes, other, seen, format);
    }

    public FeedQuery atMost(int bytes) {
        return new FeedQuery(order, cursor, head, limit, bytes, filter, seen, format);
    }

    public FeedQuery withLimit(int records) {
        return new FeedQuery(order, cursor, head, records, maxBytes, filter, seen, format);
    }

    public FeedQuery seeing(long sequenceId) {
        return new FeedQuery(order, cursor, head, limit, maxBytes, filter, sequenceId, format);
    }

    public FeedQuery as(RecordEncoder.Format other) {
        return new FeedQuery(order, cursor, head, limit, maxBytes, filter, seen, other);
    }

    long newestSeen() {
        long newest = Math.max(seen, cursor == null ? 0 : cursor.sequenceId());
        return Math.max(newest, head == null ? 0 : head.sequenceId());
    }

    private static final class Parameters {

        /** Part of the contract of the API, like {@link #MAX_LIMIT}. */
        private static final int DEFAULT_LIMIT = 200;

        private static final int MAX_LIMIT = 1_000;

        private static final List<String> KNOWN = Stream.concat(
                        Stream.of(CURSOR, LIMIT, ORDER, WAIT, PROOF), FILTERS.stream())
                .toList();
        private static final int MAX_FILTER_LENGTH = 1024;
        private static final Pattern TOKEN = Pattern.compile(
                "(token|identity):[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}");
        /** Names in PostgreSQL have at most 63 bytes. */
        private static final Pattern ROLE = Pattern.compile("role:[^\\x00]{1,63}");

        private final MultivaluedMap<String, String> parameters;
        private final @Nullable View view;
        private final @Nullable OffsetDateTime now;

        Parameters(MultivaluedMap<String, String> parameters, @Nullable View view, @Nullable OffsetDateTime now) {
            this.parameters = parameters;
            this.view = view;
            this.now = now;
        }

        /** Whole seconds, so that clients with the same parameters share a read within one second. */
        static OffsetDateTime now() {
            return OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS);
        }

        FeedQuery query(FeedConfig config) {
            RequestParameters.requireKnown(parameters, KNOWN);
            Order order = order();
            Filter filter = filter();
            String text = parameters.getFirst(CURSOR);
            Cursor cursor = null;
            Cursor head = null;
            if (text != null) {
                int dot = order == Order.DESCENDING ? text.indexOf('.') : -1;
                cursor = readCursor(dot < 0 ? text : text.substring(0, dot));
                head = dot < 0 ? null : readCursor(text.substring(dot + 1));
            }
            return new FeedQuery(order, cursor, head, limit(), config.pageBytes(), filter);
        }

        Filter filter() {
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
            if (order.equals("desc")) {
                return Order.DESCENDING;
            }
            throw RequestParameters.invalid(ORDER, "It is asc (oldest first, the default) or desc.");
        }

        private int limit() {
            String limit = parameters.getFirst(LIMIT);
            if (limit == null) {
                return DEFAULT_LIMIT;
            }
            if (NUMBER_TEXT.matcher(limit).matches()) {
                int value = Integer.parseInt(limit);
                if (value >= 1 && value <= MAX_LIMIT) {
                    return value;
                }
            }
            throw RequestParameters.invalid(LIMIT, "It is a number from 1 to " + MAX_LIMIT + ".");
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
}
