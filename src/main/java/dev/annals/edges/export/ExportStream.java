package dev.annals.edges.export;

import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.http.PacedBody;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Writes a part of a feed to a client at the client's pace: the next page is read after the previous one has gone to the network, except
 * for its last piece. An export holds at most two pages.
 *
 * <p>The status is sent before the last record is read. A later failure cuts the connection without the final chunk of the body, so that an
 * interrupted export is never mistaken for a complete one. A client that reads nothing for too long is cut off likewise.
 *
 * <p>Everything runs on the connection's event loop, except the encoding.
 */
final class ExportStream implements PacedBody {

    private static final Logger LOG = Logger.getLogger(ExportStream.class);

    private static final int PIECE_BYTES = 32 * 1024;
    /** The database takes about as long for such a page as the network. */
    private static final int PAGE_RECORDS = 500;

    private final HttpServerResponse response;
    private final FeedReader reader;
    private final UUID projectId;
    private final ExportFormat format;
    private final FeedQuery query;
    private final FeedPage firstPage;
    private final long head;
    private final FeedConfig config;
    private final Runnable release;
    private final ByteArrayOutputStream made = new ByteArrayOutputStream();
    private final boolean gzip;

    private @Nullable OutputStream out;
    private @Nullable Context context;
    private boolean ended;
    private Buffer bytes = Buffer.buffer();
    private int written;
    private @Nullable Cursor next;
    private long idleTimer = -1;

    /**
     * An export that has read its first page.
     *
     * @param firstPage the result of the first of {@link #pages}
     * @param head the sequence id of the last record to export
     * @param release is called once, when the export has ended or failed
     */
    ExportStream(
            HttpServerResponse response,
            FeedReader reader,
            UUID projectId,
            ExportRequest request,
            RecordEncoder.Format records,
            FeedPage firstPage,
            long head,
            FeedConfig config,
            Runnable release) {
        this.response = response;
        this.reader = reader;
        this.projectId = projectId;
        this.format = request.format();
        this.gzip = request.gzip();
        this.query = pages(request.query(), config).seeing(head).as(records);
        this.firstPage = firstPage;
        this.head = head;
        this.config = config;
        this.release = release;
    }

    /** The first page is read before the answer begins. */
    static FeedQuery pages(FeedQuery query, FeedConfig config) {
        return new FeedQuery(
                Order.ASCENDING, query.cursor(), null, PAGE_RECORDS, config.pageBytes() / 2, query.filter());
    }

    /** One page being read, one being written. */
    static long memory(FeedConfig config) {
        return 2L * config.pageBytes() + FeedQuery.LARGEST_RECORD;
    }

    @Override
    public void start(Context eventLoop) {
        response.setChunked(true);
        context = eventLoop;
        make(firstPage);
    }

    @Override
    public void stop() {
        end();
    }

    private void make(FeedPage page) {
        List<EncodedRecord> records = page.records().stream()
                .filter(record -> record.sequenceId() <= head)
                .toList();
        next = page.next() == null || page.next().sequenceId() >= head ? null : page.next();
        boolean last = next == null;
        eventLoop()
                .owner()
                .<byte[]>executeBlocking(() -> encode(records, last), false)
                .onComplete(encoded -> eventLoop().runOnContext(now -> {
                    if (encoded.succeeded()) {
                        bytes = Buffer.buffer(encoded.result());
                        written = 0;
                        writeOn();
                    } else {
                        fail(encoded.cause());
                    }
                }));
    }

    private byte[] encode(List<EncodedRecord> records, boolean last) throws IOException {
        if (out == null) {
            out = gzip ? new GZIPOutputStream(made, true) : made;
            out.write(format.head());
        }
        for (EncodedRecord record : records) {
            record.writeTo(out);
        }
        out.flush();
        if (last) {
            out.close();
        }
        byte[] encoded = made.toByteArray();
        made.reset();
        return encoded;
    }

    private void writeOn() {
        disarm();
        // Otherwise the handler would run again after the rest of the page, and read the next page twice.
        response.drainHandler(null);
        if (ended) {
            return;
        }
        if (response.closed()) {
            // The client disconnected before the close handler was set.
            end();
            return;
        }
        while (written < bytes.length()) {
            if (response.writeQueueFull()) {
                arm();
                response.drainHandler(drained -> writeOn());
                return;
            }
            int end = Math.min(written + PIECE_BYTES, bytes.length());
            Buffer piece = bytes.slice(written, end);
            written = end;
            // The close handler learns of a failed write.
            var unused = response.write(piece);
        }
        bytes = Buffer.buffer();
        if (next != null) {
            readOn(next);
        } else {
            arm();
            response.end().onComplete(sent -> end());
        }
    }

    private void readOn(Cursor cursor) {
        reader.read(projectId, query.from(cursor))
                .subscribe()
                .with(
                        page -> eventLoop().runOnContext(now -> {
                            if (!ended) {
                                make(page);
                            }
                        }),
                        failure -> eventLoop().runOnContext(now -> fail(failure)));
    }

    private void arm() {
        idleTimer = eventLoop().owner().setTimer(2 * config.idle().toMillis(), late -> {
            if (!ended) {
                LOG.infof("An export of project %s was ended, because its client reads nothing", projectId);
                abort();
            }
        });
    }

    private void disarm() {
        if (idleTimer >= 0) {
            eventLoop().owner().cancelTimer(idleTimer);
            idleTimer = -1;
        }
    }

    private void fail(Throwable failure) {
        if (!ended) {
            LOG.warnf("An export of project %s broke off: %s", projectId, failure);
            abort();
        }
    }

    private void abort() {
        response.reset();
        end();
    }

    private void end() {
        if (!ended) {
            ended = true;
            disarm();
            bytes = Buffer.buffer();
            release.run();
        }
    }

    private Context eventLoop() {
        if (context == null) {
            throw new IllegalStateException("not started");
        }
        return context;
    }
}
