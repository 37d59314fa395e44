package dev.annals.feed;

import dev.annals.record.RecordSize;
import dev.annals.record.StoredRecord;
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
        List<StoredRecord> records,
        @Nullable Cursor next,
        @Nullable Cursor head,
        Cursor pollMore) {

    /** The links, and the JSON around the records. */
    private static final int FRAME_BYTES = 8_192;

    /** The largest number of bytes that its JSON can have. */
    public long jsonAtMost() {
        return FRAME_BYTES + RecordSize.jsonAtMost(records.size(), characters());
    }

    /** About how many bytes its JSON has, or slightly more, since few characters take more than one byte. */
    int expectedBytes() {
        return (int) (FRAME_BYTES + records.size() * 400L + characters());
    }

    private long characters() {
        long characters = 0;
        for (StoredRecord record : records) {
            characters += RecordSize.characters(record);
        }
        return characters;
    }
}
