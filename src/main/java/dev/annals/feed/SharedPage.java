package dev.annals.feed;

import dev.annals.record.RecordJson;
import dev.annals.record.StoredRecord;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A page that several clients may have asked for, and its events, which are made once for all streams. */
final class SharedPage {

    private final UUID projectId;
    private final FeedPage page;
    private final long readAt;
    private @Nullable Events events;

    /** @param readAt when the read began, as {@link System#nanoTime()} */
    SharedPage(UUID projectId, FeedPage page, long readAt) {
        this.projectId = projectId;
        this.page = page;
        this.readAt = readAt;
    }

    /**
     * A page's records as Server-Sent Events.
     *
     * @param bytes the events
     * @param records how many they are; fewer than the page has, where that has too many bytes
     * @param last behind the last of them; null where there is none
     */
    record Events(Buffer bytes, int records, @Nullable Cursor last) {}

    FeedPage page() {
        return page;
    }

    long readAt() {
        return readAt;
    }

    /**
     * The events of the page's records, each {@code id}, {@code event} and {@code data} on a line.
     *
     * @param maxBytes where the events end, but for the one that passes this limit; the same for all callers
     */
    synchronized Events events(int maxBytes) {
        if (events == null) {
            events = makeEvents(maxBytes);
        }
        return events;
    }

    private Events makeEvents(int maxBytes) {
        Buffer bytes = Buffer.buffer();
        int records = 0;
        Cursor last = null;
        for (StoredRecord record : page.records()) {
            if (bytes.length() >= maxBytes) {
                break;
            }
            last = Cursor.behind(projectId, record.sequenceId(), record.record().id());
            bytes.appendBytes(("id: " + last + "\nevent: record\ndata: ").getBytes(StandardCharsets.US_ASCII))
                    // One line: JSON strings hold no line breaks, and PostgreSQL writes jsonb without any.
                    .appendBytes(RecordJson.of(record))
                    .appendString("\n\n");
            records++;
        }
        return new Events(bytes, records, last);
    }
}
