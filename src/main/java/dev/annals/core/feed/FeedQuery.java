package dev.annals.core.feed;

import dev.annals.core.query.Filter;
import dev.annals.core.query.Order;
import org.jspecify.annotations.Nullable;

/**
 * What a reader asks of a feed.
 *
 * @param order which way the page goes
 * @param cursor where it begins: after this record in ascending order, before it in descending order; null means the start
 *     of the feed, or its head
 * @param head in descending order, the head that the first page saw, where {@code poll_more} continues; null on the first
 *     page
 * @param limit the largest number of records, 1 or more
 * @param maxBytes the largest number of bytes that its records may have as JSON, unless the first one alone has more
 * @param filter which records
 * @param seen the sequence id up to which the page has to see the feed, because the reader knows of it; 0 if it knows of none
 */
public record FeedQuery(
        Order order,
        @Nullable Cursor cursor,
        @Nullable Cursor head,
        int limit,
        int maxBytes,
        Filter filter,
        long seen) {

    /** What a reader asks who knows of no record. */
    public FeedQuery(
            Order order, @Nullable Cursor cursor, @Nullable Cursor head, int limit, int maxBytes, Filter filter) {
        this(order, cursor, head, limit, maxBytes, filter, 0);
    }

    /** More than the largest record takes, in memory and as JSON together. */
    public static final int LARGEST_RECORD = 1_048_576;

    /** A guess at what one record takes, in memory and as JSON together, that is enough for most. */
    private static final int COMMON_RECORD = 8_192;

    /** About how many bytes a page can take in memory while it is read and written: its records, and the answer with them. */
    public long memory() {
        return Math.min(memory(maxBytes), (long) limit * LARGEST_RECORD + LARGEST_RECORD);
    }

    /** About how many of them to reserve before it is known how large the records are. */
    public long firstMemory() {
        return Math.min(memory(), (long) limit * COMMON_RECORD + LARGEST_RECORD);
    }

    /** The same for a page of this many bytes of JSON, and the record that comes next. */
    static long memory(long bytes) {
        return 2 * bytes + LARGEST_RECORD;
    }

    /** The inverse of {@link #memory(long)}: how many bytes of JSON a page may have. */
    static int bytesWithin(long memory) {
        return (int) Math.min(Integer.MAX_VALUE, Math.max(0, memory - LARGEST_RECORD) / 2);
    }

    /** The same query from another place on. */
    public FeedQuery from(Cursor place) {
        return new FeedQuery(order, place, head, limit, maxBytes, filter, seen);
    }

    /** The same query with another filter. */
    public FeedQuery with(Filter other) {
        return new FeedQuery(order, cursor, head, limit, maxBytes, other, seen);
    }

    /** The same query with at most this many bytes. */
    public FeedQuery atMost(int bytes) {
        return new FeedQuery(order, cursor, head, limit, bytes, filter, seen);
    }

    /** The same query with at most this many records. */
    public FeedQuery withLimit(int records) {
        return new FeedQuery(order, cursor, head, records, maxBytes, filter, seen);
    }

    /** The same query of a reader who knows of the record with this sequence id. */
    public FeedQuery seeing(long sequenceId) {
        return new FeedQuery(order, cursor, head, limit, maxBytes, filter, sequenceId);
    }

    /** How far the server that answers has to have come. */
    long farthest() {
        long far = Math.max(seen, cursor == null ? 0 : cursor.sequenceId());
        return Math.max(far, head == null ? 0 : head.sequenceId());
    }
}
