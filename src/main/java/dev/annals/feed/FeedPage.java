package dev.annals.feed;

import dev.annals.record.StoredRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of a feed.
 *
 * @param records in the order asked for
 * @param next where the next page begins; null where this page reaches the end of what was asked for
 * @param head in descending order, the head of the feed as the first page saw it; null in ascending order
 * @param pollMore where a later read finds the records that this one could not see yet
 */
public record FeedPage(
        List<StoredRecord> records,
        @Nullable Cursor next,
        @Nullable Cursor head,
        Cursor pollMore) {}
