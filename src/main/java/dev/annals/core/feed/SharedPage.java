package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A page for which several clients may have asked, and its events, which are made once for all streams. */
final class SharedPage {

    /** What is asked for. */
    record Key(UUID projectId, FeedQuery query) {}

    private final UUID projectId;
    private final FeedPage page;
    private final long readAt;
    private @Nullable Buffer events;

    /** @param readAt when the read began, as {@link System#nanoTime()} */
    SharedPage(UUID projectId, FeedPage page, long readAt) {
        this.projectId = projectId;
        this.page = page;
        this.readAt = readAt;
    }

    FeedPage page() {
        return page;
    }

    /** About how many bytes it takes, with its events; 0 without records. */
    int size() {
        return page.records().isEmpty() ? 0 : (int) Math.min(Integer.MAX_VALUE, 2 * page.answerAtMost());
    }

    long readAt() {
        return readAt;
    }

    /** The events of the page's records, each {@code id}, {@code event} and {@code data} on a line. */
    synchronized Buffer events() {
        if (events == null) {
            events = makeEvents();
        }
        return events;
    }

    private Buffer makeEvents() {
        Buffer bytes = Buffer.buffer();
        for (EncodedRecord record : page.records()) {
            Cursor behind = Cursor.behind(projectId, record);
            bytes.appendBytes(("id: " + behind + "\nevent: record\ndata: ").getBytes(StandardCharsets.US_ASCII));
            // One line: JSON strings hold no line breaks, and PostgreSQL writes jsonb without any.
            record.appendTo(bytes);
            bytes.appendString("\n\n");
        }
        return bytes;
    }
}
