package dev.annals.follower;

import jakarta.annotation.Nullable;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A page of a feed.
 *
 * @param <R> a record
 */
public final class Page<R> {

    /** Only the cursor of a URL is used: the URL begins with the service's public address, which may differ from the client's. */
    private static final Pattern CURSOR = Pattern.compile("[?&]cursor=([0-9A-Za-z._~-]+)(?:&.*)?$");

    private final List<R> records;

    @Nullable
    private final String next;

    private final String pollMore;

    /**
     * A page as the service answers it.
     *
     * @param records in the feed's order
     * @param next the URL of the next page; null on the last
     * @param pollMore the URL of later records
     * @throws IllegalArgumentException if a URL has no cursor
     */
    public Page(List<R> records, @Nullable String next, String pollMore) {
        this.records = records;
        this.next = next == null ? null : cursorOf(next);
        this.pollMore = cursorOf(pollMore);
    }

    private static String cursorOf(String url) {
        Matcher cursor = CURSOR.matcher(url);
        if (!cursor.find()) {
            throw new IllegalArgumentException("The URL of a page has no cursor: " + url);
        }
        return cursor.group(1);
    }

    /** In the feed's order. */
    public List<R> records() {
        return records;
    }

    /** The cursor of the next page; null on the last. */
    @Nullable
    public String next() {
        return next;
    }

    /** The cursor of later records. */
    public String pollMore() {
        return pollMore;
    }

    /** The cursor behind this page, from which to read on. */
    public String behind() {
        return next == null ? pollMore : next;
    }
}
