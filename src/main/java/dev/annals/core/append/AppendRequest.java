package dev.annals.core.append;

import dev.annals.core.append.AppendOutcome.Reason;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.guid.SequentialGuid;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The records of one request, and its outcome. Only the thread that handles its batch uses it. */
final class AppendRequest {

    final AppendQueue.Key key;
    final List<AuditRecord> records;
    final UUID tokenId;
    final long bytes;
    /** Completed once, and never exceptionally. */
    final CompletableFuture<AppendOutcome> outcome = new CompletableFuture<>();

    private final Series series;
    /** The records that are known to be stored, by their index in {@link #records}. */
    private final @Nullable StoredRecord[] found;

    private int added;
    /** Redraws of ids that belonged to other records. */
    private int redraws;

    private volatile boolean queued;
    private boolean spoiledBatch;
    private boolean idExists;

    /**
     * Requests whose records have to be stored in their order. After a failure the later ones end with {@link
     * AppendOutcome.EarlierFailed}. All requests of a series that are in flight belong in one queue.
     */
    static final class Series {

        private volatile boolean failed;
        private @Nullable AppendQueue queue;
        private int inFlight;

        private synchronized AppendQueue enter(Supplier<AppendQueue> ofProject) {
            if (queue == null || inFlight == 0) {
                queue = ofProject.get();
            }
            inFlight++;
            return queue;
        }

        private synchronized void leave() {
            inFlight--;
        }

        void fail() {
            failed = true;
        }

        boolean hasFailed() {
            return failed;
        }
    }

    AppendRequest(UUID projectId, UUID tokenId, List<AuditRecord> records, long bytes) {
        this(projectId, tokenId, records, bytes, new Series());
    }

    /**
     * A request that follows the earlier ones of {@code series}.
     *
     * @param records one or more, with ids that differ
     * @param bytes about the memory that the records need
     */
    AppendRequest(UUID projectId, UUID tokenId, List<AuditRecord> records, long bytes, Series series) {
        this.key = new AppendQueue.Key(projectId, records.stream().anyMatch(record -> record.numberSequence() != null));
        this.records = new ArrayList<>(records);
        this.tokenId = tokenId;
        this.bytes = bytes;
        this.series = series;
        this.found = new StoredRecord[records.size()];
    }

    /**
     * The queue to put the request into: that of the series' requests in flight, also if the project has moved.
     *
     * @param ofProject the queue of the project's database
     */
    AppendQueue queue(Supplier<AppendQueue> ofProject) {
        queued = true;
        return series.enter(ofProject);
    }

    private void end(AppendOutcome how) {
        if (outcome.complete(how) && queued) {
            series.leave();
        }
    }

    static List<AppendRequest> open(List<AppendRequest> requests) {
        return requests.stream().filter(AppendRequest::isOpen).toList();
    }

    static List<AppendRequest> firstOfEachSeries(List<AppendRequest> requests) {
        Set<Series> all = new HashSet<>();
        return requests.stream().filter(request -> all.add(request.series)).toList();
    }

    /** If the series has failed, this ends the request. */
    private boolean isOpen() {
        if (series.hasFailed()) {
            fail(new AppendOutcome.EarlierFailed());
        }
        return !outcome.isDone();
    }

    /** The records that are not known to be stored. */
    List<AuditRecord> missing() {
        List<AuditRecord> missing = new ArrayList<>(records.size());
        for (int i = 0; i < found.length; i++) {
            if (isMissing(i)) {
                missing.add(records.get(i));
            }
        }
        return missing;
    }

    boolean isMissing(int index) {
        return found[index] == null;
    }

    List<UUID> missingIds() {
        return missing().stream().map(AuditRecord::id).toList();
    }

    void spoilBatch() {
        spoiledBatch = true;
    }

    boolean hasSpoiledBatch() {
        return spoiledBatch;
    }

    void noteExistingId() {
        idExists = true;
    }

    boolean hasExistingId() {
        return idExists;
    }

    /**
     * Ends the request if all is stored, or if the client chose an id of a record with other content. If the service drew such
     * an id, draws another.
     *
     * @return whether any record was found
     */
    boolean compareWith(Map<UUID, StoredRecord> stored, SequentialGuid guids, int maxRedraws) {
        idExists = false;
        boolean any = false;
        boolean redrawn = false;
        List<Rejection> taken = new ArrayList<>();
        for (int i = 0; i < found.length; i++) {
            AuditRecord record = records.get(i);
            StoredRecord there = isMissing(i) ? stored.get(record.id()) : null;
            if (there != null) {
                any = true;
                if (there.isSentAs(record)) {
                    found[i] = there;
                    // An earlier attempt stored the record, and its answer was lost.
                    added += record.idAssigned() ? 1 : 0;
                } else if (record.idAssigned()) {
                    records.set(i, record.withId(guids.next()));
                    redrawn = true;
                } else {
                    taken.add(taken(i));
                }
            }
        }
        redraws += redrawn ? 1 : 0;
        if (!taken.isEmpty()) {
            fail(new AppendOutcome.Rejected(Reason.ID_TAKEN, taken));
        } else if (redraws > maxRedraws) {
            fail(
                    new AppendOutcome.Unavailable(
                            "Other writers took the ids that the service drew, so nothing was stored. Send the request again."));
        } else if (any && Arrays.stream(found).allMatch(record -> record != null)) {
            succeed();
        }
        return any;
    }

    /** Ends the request because of its only record that is missing. */
    void refuseMissingId() {
        fail(new AppendOutcome.Rejected(
                Reason.ID_TAKEN,
                IntStream.range(0, found.length)
                        .filter(this::isMissing)
                        .mapToObj(AppendRequest::taken)
                        .toList()));
    }

    private static Rejection taken(int index) {
        return new Rejection(index, "/id", "This id is taken.");
    }

    private void succeed() {
        end(new AppendOutcome.Stored(List.of(found), added));
    }

    /**
     * Ends requests that a batch has stored.
     *
     * @param stored the missing records, in the order of the requests
     */
    static void succeed(List<AppendRequest> requests, List<StoredRecord> stored) {
        int next = 0;
        for (AppendRequest request : requests) {
            for (int i = 0; i < request.found.length; i++) {
                if (request.isMissing(i)) {
                    request.found[i] = stored.get(next++);
                    request.added++;
                }
            }
            request.succeed();
        }
    }

    /** The series fails first, so that a caller who learns of the failure can rely on that. */
    void fail(AppendOutcome why) {
        series.fail();
        end(why);
    }

    static void fail(List<AppendRequest> requests, AppendOutcome why) {
        for (AppendRequest request : requests) {
            request.fail(why);
        }
    }
}
