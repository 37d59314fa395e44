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
    /** The records that an earlier attempt or request has stored, by their index in {@link #records}. */
    private final @Nullable StoredRecord[] found;
    /** The number of records that this request stored. */
    private int added;
    /** The number of times that the service drew new ids because other records had those of this request. */
    private int redraws;

    private boolean spoiledBatch;
    private boolean idExists;

    /**
     * Requests whose records have to be stored in the order of the requests. Once one of them has failed, no later one is
     * written: they end with {@link AppendOutcome.EarlierFailed}, and may be sent in a new series.
     *
     * <p>All requests of a series that are in flight at the same time belong in the same queue.
     */
    static final class Series {

        private volatile boolean failed;

        void fail() {
            failed = true;
        }

        boolean hasFailed() {
            return failed;
        }
    }

    /** A request in a series of its own. */
    AppendRequest(UUID projectId, UUID tokenId, List<AuditRecord> records, long bytes) {
        this(projectId, tokenId, records, bytes, new Series());
    }

    /**
     * A request that follows the earlier ones of {@code series}.
     *
     * @param tokenId the token that the records arrived with
     * @param records one or more, each with an id of its own
     * @param bytes about how much memory the records need
     */
    AppendRequest(UUID projectId, UUID tokenId, List<AuditRecord> records, long bytes, Series series) {
        this.key = new AppendQueue.Key(projectId, records.stream().anyMatch(record -> record.numberSequence() != null));
        this.records = new ArrayList<>(records);
        this.tokenId = tokenId;
        this.bytes = bytes;
        this.series = series;
        this.found = new StoredRecord[records.size()];
    }

    /** Those of the given requests that are open. */
    static List<AppendRequest> open(List<AppendRequest> requests) {
        return requests.stream().filter(AppendRequest::isOpen).toList();
    }

    /** Those of the given requests that follow no other of them in a series. */
    static List<AppendRequest> firstOfEachSeries(List<AppendRequest> requests) {
        Set<Series> all = new HashSet<>();
        return requests.stream().filter(request -> all.add(request.series)).toList();
    }

    /** Whether this request has no outcome yet and may be written. If its series has failed, this ends the request. */
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

    /** Whether this record is not known to be stored. */
    boolean isMissing(int index) {
        return found[index] == null;
    }

    /** The ids of {@link #missing}. */
    List<UUID> missingIds() {
        return missing().stream().map(AuditRecord::id).toList();
    }

    /** Notes that this request made a transaction fail. */
    void spoilBatch() {
        spoiledBatch = true;
    }

    boolean hasSpoiledBatch() {
        return spoiledBatch;
    }

    /** Notes that the id of a missing record exists in the database. */
    void noteExistingId() {
        idExists = true;
    }

    /** Whether an id exists that was not compared since. */
    boolean hasExistingId() {
        return idExists;
    }

    /**
     * Notes which records are already stored, and draws a new id for each record whose id was drawn by the service and
     * belongs to another record. Ends the request if all of its records are stored, or if an id that the client sent belongs to
     * a record with other content.
     *
     * @param maxRedraws after this many redraws the request fails
     * @return whether any record of this request was found
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
                    // The id was drawn for this request, so an earlier attempt stored the record and its answer was
                    // lost.
                    added += record.idAssigned() ? 1 : 0;
                } else if (record.idAssigned()) {
                    records.set(i, record.withId(guids.next()));
                    redrawn = true;
                } else {
                    taken.add(new Rejection(i, "/id", "This id is taken."));
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

    /** Ends the request after all of its records were found to be stored. */
    private void succeed() {
        outcome.complete(new AppendOutcome.Stored(List.of(found), added));
    }

    /**
     * Ends requests that a batch has stored.
     *
     * @param stored their missing records, in their order
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

    /** Ends the request without success. Its series fails first, so that a caller who learns of the failure can rely on that. */
    void fail(AppendOutcome why) {
        series.fail();
        outcome.complete(why);
    }

    /** Ends those of the given requests that have no outcome yet. */
    static void fail(List<AppendRequest> requests, AppendOutcome why) {
        for (AppendRequest request : requests) {
            request.fail(why);
        }
    }
}
