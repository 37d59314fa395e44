package dev.annals.append;

import dev.annals.problem.FieldError;
import dev.annals.problem.Problem;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordReader;
import dev.annals.record.SentRecords;
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
    final long bytes;
    private final boolean inArray;
    final CompletableFuture<Appended> answer = new CompletableFuture<>();
    /** Those found to be stored by an earlier try or request, by their place in {@link #records}. */
    private final @Nullable StoredRecord[] found;
    /** How many of the records this request stored. */
    private int added;

    AppendRequest(SentRecords sent, long bytes) {
        this.records = sent.records();
        this.inArray = sent.inArray();
        this.bytes = bytes;
        this.found = new StoredRecord[records.size()];
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
     * Takes over what is stored already. Answers the request where that settles it: all of its records are stored, or
     * one of its ids belongs to a record with other content.
     *
     * @return whether anything of this request was found
     */
    boolean compareWith(Map<UUID, StoredRecord> stored) {
        boolean any = false;
        List<FieldError> taken = new ArrayList<>();
        for (int i = 0; i < found.length; i++) {
            StoredRecord there = found[i] == null ? stored.get(records.get(i).id()) : null;
            if (there != null) {
                any = true;
                if (records.get(i).sameContentAs(there.record())) {
                    found[i] = there;
                    // An id that was drawn for this request: a try of it stored the record, and its answer got lost.
                    added += records.get(i).idAssigned() ? 1 : 0;
                } else if (taken.size() < RecordReader.MAX_ERRORS) {
                    taken.add(new FieldError(inArray ? "/" + i + "/id" : "/id", "This id is taken."));
                }
            }
        }
        if (!taken.isEmpty()) {
            fail(new ProblemException(Problem.of(
                            ProblemType.RECORD_ID_TAKEN,
                            "A record with this id and other content is stored already. To add a record, give it an id of its own; to"
                                    + " retry one, send it unchanged.")
                    .withErrors(taken)));
        } else if (any && Arrays.stream(found).allMatch(record -> record != null)) {
            succeed();
        }
        return any;
    }

    /**
     * Answers the request where a record of it cannot have the number that it wants.
     *
     * @param left what the requests before it in the batch left
     * @return whether that is so
     */
    boolean refuseNumbers(ValuesLeft left) {
        Map<String, Long> wanted = new HashMap<>();
        List<FieldError> errors = new ArrayList<>();
        for (int i = 0; i < found.length; i++) {
            String whyNot = found[i] == null ? left.whyNot(records.get(i), wanted) : null;
            if (whyNot != null && errors.size() < RecordReader.MAX_ERRORS) {
                errors.add(new FieldError((inArray ? "/" + i : "") + "/number/sequence", whyNot));
            }
        }
        if (errors.isEmpty()) {
            left.take(wanted);
            return false;
        }
        fail(new ProblemException(Problem.of(
                        ProblemType.INVALID_RECORD,
                        "Not every record can have the number that it wants, so nothing was stored: correct what errors names")
                .withErrors(errors)));
        return true;
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

    void fail(Throwable failure) {
        answer.completeExceptionally(failure);
    }
}
