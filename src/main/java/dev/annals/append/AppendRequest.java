package dev.annals.append;

import dev.annals.guid.SequentialGuid;
import dev.annals.http.FieldError;
import dev.annals.http.Problem;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordReader;
import dev.annals.record.StoredRecord;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The records of one request, and its answer. Used by one thread at a time: that of the batch it is in. */
final class AppendRequest {

    final List<AuditRecord> records;
    final UUID tokenId;
    final long bytes;
    final boolean numbered;
    private final boolean inBatch;
    private final Chain chain;
    final CompletableFuture<Appended> answer = new CompletableFuture<>();
    /** Those found to be stored by an earlier try or request, by their place in {@link #records}. */
    private final @Nullable StoredRecord[] found;
    /** How many of the records this request stored. */
    private int added;
    /** How often ids that the service had drawn for this request were found taken, and drawn again. */
    private int redraws;

    /**
     * A request that comes behind those of {@code chain} which the queue was given before.
     *
     * @param inBatch whether the records came as a batch, and not as one bare record
     * @param bytes about how much memory the records take
     */
    AppendRequest(List<AuditRecord> records, boolean inBatch, UUID tokenId, long bytes, Chain chain) {
        this.records = new ArrayList<>(records);
        this.numbered = records.stream().anyMatch(record -> record.numberSequence() != null);
        this.inBatch = inBatch;
        this.tokenId = tokenId;
        this.bytes = bytes;
        this.chain = chain;
        this.found = new StoredRecord[records.size()];
    }

    /** Those of some requests that are open. */
    static List<AppendRequest> open(List<AppendRequest> requests) {
        List<AppendRequest> open = new ArrayList<>(requests.size());
        for (AppendRequest request : requests) {
            if (request.isOpen()) {
                open.add(request);
            }
        }
        return open;
    }

    /** Whether this request is not answered yet and may be written. Fails it where its chain is broken. */
    boolean isOpen() {
        if (chain.isBroken()) {
            fail(new Chain.Broken());
        }
        return !answer.isDone();
    }

    /** The records that are not stored yet, as far as is known. */
    List<AuditRecord> missing() {
        List<AuditRecord> missing = new ArrayList<>(records.size());
        for (int i = 0; i < found.length; i++) {
            if (found[i] == null) {
                missing.add(records.get(i));
            }
        }
        return missing;
    }

    /**
     * Takes over what is stored already, and draws the service's own ids again where another record has them. Answers the
     * request where that settles it: all of its records are stored, or an id that the client sent belongs to a record with
     * other content.
     *
     * @param maxRedraws after so many the request fails
     * @return whether anything of this request was found
     */
    boolean compareWith(Map<UUID, StoredRecord> stored, SequentialGuid guids, int maxRedraws) {
        boolean any = false;
        boolean redrawn = false;
        List<FieldError> taken = new ArrayList<>();
        for (int i = 0; i < found.length; i++) {
            AuditRecord record = records.get(i);
            StoredRecord there = found[i] == null ? stored.get(record.id()) : null;
            if (there != null) {
                any = true;
                if (record.sameContentAs(there.record())) {
                    found[i] = there;
                    // An id that was drawn for this request: a try of it stored the record, and its answer got lost.
                    added += record.idAssigned() ? 1 : 0;
                } else if (record.idAssigned()) {
                    records.set(i, record.withId(guids.next()));
                    redrawn = true;
                } else if (taken.size() < RecordReader.MAX_ERRORS) {
                    taken.add(new FieldError((inBatch ? "/records/" + i : "") + "/id", "This id is taken."));
                }
            }
        }
        redraws += redrawn ? 1 : 0;
        if (!taken.isEmpty()) {
            fail(new ProblemException(Problem.of(
                            ProblemType.RECORD_ID_TAKEN,
                            "A record with this id and other content is stored already. To add a record, give it an id of its own; to"
                                    + " retry one, send it unchanged.")
                    .withErrors(taken)));
        } else if (redraws > maxRedraws) {
            fail(
                    new ProblemException(
                            ProblemType.UNAVAILABLE,
                            "Other writers took the ids that the service drew, so nothing was stored. Send the request again."));
        } else if (any && Arrays.stream(found).allMatch(record -> record != null)) {
            succeed();
        }
        return any;
    }

    /**
     * Answers the request where a record of it cannot have the number that it wants.
     *
     * @param left what the requests before it in the batch left
     */
    void refuseNumbers(ValuesLeft left) {
        Map<String, Long> wanted = new HashMap<>();
        List<FieldError> errors = new ArrayList<>();
        for (int i = 0; i < found.length; i++) {
            String whyNot = found[i] == null ? left.whyNot(records.get(i), wanted) : null;
            if (whyNot != null && errors.size() < RecordReader.MAX_ERRORS) {
                errors.add(new FieldError((inBatch ? "/records/" + i : "") + "/number/sequence", whyNot));
            }
        }
        if (errors.isEmpty()) {
            left.take(wanted);
            return;
        }
        fail(new ProblemException(Problem.of(
                        ProblemType.INVALID_RECORD,
                        "Not every record can have the number that it wants, so nothing was stored: correct what errors names")
                .withErrors(errors)));
    }

    /** Answers with the records that were found. */
    void succeed() {
        answer.complete(new Appended(List.of(found), added));
    }

    /** Answers the requests of a batch with what it stored. */
    static void succeed(List<AppendRequest> requests, List<StoredRecord> stored) {
        int next = 0;
        for (AppendRequest request : requests) {
            for (int i = 0; i < request.found.length; i++) {
                if (request.found[i] == null) {
                    request.found[i] = stored.get(next++);
                    request.added++;
                }
            }
            request.succeed();
        }
    }

    /** Answers with a failure, and breaks the chain first: whoever learns of the one may count on the other. */
    void fail(Throwable failure) {
        chain.breakOff();
        answer.completeExceptionally(failure);
    }
}
