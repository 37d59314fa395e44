package dev.annals.edges.export;

import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
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
 * Writes a part of a feed to a client, at the client's pace: the next page is read from the database when all but the last
 * piece of the one before it has gone to the network. So an export holds two pages at most, however slow its client is.
 *
 * <p>The answer's status is sent before the last record is read. A later failure ends the connection without the chunk that
 * ends a body, so that an interrupted export is never mistaken for a complete one. The same happens to a client that reads
 * nothing for too long.
 *
 * <p>Everything happens on the connection's event loop, except making the bytes.
 */
final class ExportStream implements PacedBody {

    private static final Logger LOG = Logger.getLogger(ExportStream.class);

    /** How much goes to the network at a time. */
    private static final int PIECE_BYTES = 32 * 1024;
    /** How many records are read at a time: a page of them takes the database as long as the network takes for it. */
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
     * @param response to the client
     * @param request what is exported
     * @param firstPage what the first of {@link #pages} brought
     * @param head the sequence id of the last record to export
     * @param release called when the export has ended, in whatever way
     */
    ExportStream(
            HttpServerResponse response,
            FeedReader reader,
            UUID projectId,
            ExportRequest request,
            FeedPage firstPage,
            long head,
            FeedConfig config,
            Runnable release) {
        this.response = response;
        this.reader = reader;
        this.projectId = projectId;
        this.format = request.format();
        this.gzip = request.gzip();
        this.query = pages(request.query(), config).seeing(head);
        this.firstPage = firstPage;
        this.head = head;
        this.config = config;
        this.release = release;
    }

    /** The pages of an export; the first one is read before the answer begins. */
    static FeedQuery pages(FeedQuery query, FeedConfig config) {
        return new FeedQuery(
                Order.ASCENDING, query.cursor(), null, PAGE_RECORDS, config.pageBytes() / 2, query.filter());
    }

    /** The memory an export takes while it runs: for a page that is read and one that is written. */
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
        // A handler that is left here would be called again once the rest of the page has drained, and read the next
        // page twice.
        response.drainHandler(null);
        if (ended) {
            return;
        }
        if (response.closed()) {
            // The client went before the close handler was there.
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
            // A failed write ends in the close handler.
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
        reader.read(projectId, query.from(cursor).as(format.of(projectId)))
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
                LOG.infof("An export of project %s is given up: its client reads nothing", projectId);
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
