package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of a feed.
 *
 * @param records in the order asked for
 * @param next where the next page begins; null if this page reaches the end of what was asked for
 * @param head in descending order, the head of the feed as the first page saw it; null in ascending order
 * @param pollMore where a later read finds the records that did not exist yet for this one
 */
public record FeedPage(
        List<EncodedRecord> records,
        @Nullable Cursor next,
        @Nullable Cursor head,
        Cursor pollMore) {

    /** At most the links, and the JSON around all records. */
    private static final int FRAME_BYTES = 8_192;

    /** The largest number of bytes that an answer with this page can have. */
    public long answerAtMost() {
        return FRAME_BYTES + records.size() + bytes();
    }

    /** The bytes of all records. */
    long bytes() {
        long bytes = 0;
        for (EncodedRecord record : records) {
            bytes += record.length();
        }
        return bytes;
    }
}
