package dev.annals.feed;

import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/**
 * What a reader asks of a feed.
 *
 * @param order which way the page goes
 * @param cursor where it begins: behind this record in ascending order, before it in descending order; null is the
 *     start of the feed, or its head
 * @param head in descending order, the head that the first page saw: where {@code poll_more} goes on; null on the first
 *     page
 * @param limit how many records at most, 1 or more
 * @param maxBytes how many bytes its records have as JSON at most, unless the first one alone has more
 * @param filter which records
 */
public record FeedQuery(
        Order order, @Nullable Cursor cursor, @Nullable Cursor head, int limit, int maxBytes, Filter filter) {

    /** More than the largest record takes, in memory and written out. */
    public static final int LARGEST_RECORD = 1_048_576;

    /** About how many bytes a page of it can take in memory while it is read and written: its records, and its JSON. */
    public long memory() {
        return Math.min(3L * maxBytes, (long) limit * LARGEST_RECORD) + LARGEST_RECORD;
    }

    /** The same from another place on. */
    public FeedQuery from(Cursor place) {
        return new FeedQuery(order, place, head, limit, maxBytes, filter);
    }

    /** The same with so many bytes at most. */
    FeedQuery atMost(int bytes) {
        return new FeedQuery(order, cursor, head, limit, bytes, filter);
    }

    /** Which way a page goes. */
    public enum Order {
        /** Oldest first: the order of commits. */
        ASCENDING,
        /** Newest first. */
        DESCENDING
    }

    /**
     * Which records pass; a null component lets all pass.
     *
     * @param start at this timestamp or later
     * @param end before this timestamp
     * @param action exactly this action
     * @param actor the actor's id or name
     * @param subject the subject's id or name
     * @param outcome exactly this outcome
     * @param ipAddress exactly this address, in the text form that records show
     * @param q all words of this text, in any order and in any case, in the message
     * @param recordedBy exactly this writer
     */
    public record Filter(
            @Nullable OffsetDateTime start,
            @Nullable OffsetDateTime end,
            @Nullable String action,
            @Nullable String actor,
            @Nullable String subject,
            @Nullable String outcome,
            @Nullable String ipAddress,
            @Nullable String q,
            @Nullable String recordedBy) {

        /** Lets every record pass. */
        public static final Filter NONE = new Filter(null, null, null, null, null, null, null, null, null);
    }
}
