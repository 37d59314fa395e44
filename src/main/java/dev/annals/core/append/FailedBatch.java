package dev.annals.core.append;

import dev.annals.access.places.Places;
import dev.annals.core.append.AppendOutcome.Reason;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.sequence.SequenceKind;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.http.ProblemException;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Finds the requests of one queue that cannot be stored, ends them, and stores the others. Without numbers, each attempt stores
 * each request in a subtransaction, which names those that failed. With numbers, an attempt stores all or none.
 *
 * <pre>
 * failure      request in question found by           its outcome                       the others
 * RETRYABLE    –                                      Unavailable after all retries     all are written again, under the same ids
 * ID_HELD      subtransaction; probing its ids        Unavailable                       stored; written again
 * ID_EXISTS    reading the records with its ids       Stored with the content sent;     stored; written again
 *                                                     Rejected for other content; a
 *                                                     drawn id is drawn again
 * APPEND_TAKEN its own transaction                    Rejected if one record is left    stored
 * NO_NUMBER    reading what its sequences have left   Rejected                          written again
 * REFUSED      subtransaction; its own transaction    RejectedByDatabase                stored
 * CLOSED       –                                      ProjectClosed                     all of them, too
 * ELSEWHERE    –                                      Elsewhere if the project is not   all of them are written where the
 *                                                     found or not open in time         project is, under the same ids
 * FATAL        its own transaction                    Failed                            stored
 * </pre>
 *
 * <p>An attempt that brings no request further counts as a retry. If several requests are left, each is written in a
 * transaction of its own: two of them may share an id, and the first wins.
 */
final class FailedBatch {

    private static final Logger LOG = Logger.getLogger(FailedBatch.class);

    /** Writes where the project is, as far as known. */
    private AppendStore store;

    private Places.@Nullable Search search;
    private final UUID projectId;
    private final boolean numbered;
    private List<AppendRequest> requests;
    /** Attempts that brought no request further. */
    private int attempts;

    FailedBatch(AppendStore store, List<AppendRequest> requests) {
        this.store = store;
        this.projectId = requests.get(0).key.projectId();
        this.numbered = requests.get(0).key.numbered();
        this.requests = requests;
    }

    enum Kind {
        /** The connection broke, or the transaction lost to another one or waited too long. */
        RETRYABLE,
        /** An open transaction has inserted one of the ids. */
        ID_HELD,
        /** A stored record has one of the ids. */
        ID_EXISTS,
        /** An append has the id of another one. An append of one record has that record's id, and others have drawn ones. */
        APPEND_TAKEN,
        NO_NUMBER,
        CLOSED,
        /** The database does not have the project. */
        ELSEWHERE,
        REFUSED,
        /** Another attempt does not help. */
        FATAL;

        private static final String LOCK_NOT_AVAILABLE = "55P03";
        private static final String RECORD_KEY = "audit_record_pkey";

        static Kind of(Throwable failure) {
            if (!(failure instanceof PgException error)) {
                return DatabaseFailure.isTransient(failure) ? RETRYABLE : FATAL;
            }
            // PostgreSQL names the index that it waited for, in every language.
            if (error.getSqlState().equals(LOCK_NOT_AVAILABLE)
                    && error.getWhere() != null
                    && error.getWhere().contains(RECORD_KEY)) {
                return ID_HELD;
            }
            return DatabaseFailure.isTransient(failure) ? RETRYABLE : of(error.getSqlState(), error.getConstraint());
        }

        /** A failure in {@code append_apart.sql}. */
        static Kind ofRequest(String state, String constraint) {
            return state.equals(LOCK_NOT_AVAILABLE) ? ID_HELD : of(state, constraint);
        }

        private static Kind of(String state, @Nullable String constraint) {
            if (RECORD_KEY.equals(constraint)) {
                return ID_EXISTS;
            }
            if ("audit_record_project_open".equals(constraint)) {
                return CLOSED;
            }
            if (ElsewhereException.SQLSTATE.equals(state)) {
                return ELSEWHERE;
            }
            if ("audit_record_number".equals(constraint)) {
                return NO_NUMBER;
            }
            if ("append_pkey".equals(constraint) || "feed_segment_append_key".equals(constraint)) {
                return APPEND_TAKEN;
            }
            // 22: data exception. 23: constraint violation. 54: a limit of the server.
            return state.startsWith("22") || state.startsWith("23") || state.startsWith("54") ? REFUSED : FATAL;
        }

        /** Whether other requests can be stored. */
        boolean isOfSingleRequests() {
            return this == ID_HELD || this == ID_EXISTS || this == REFUSED;
        }
    }

    /** A function that gives the last stored requests their outcomes. */
    Uni<Runnable> write() {
        requests = AppendRequest.open(requests);
        if (requests.isEmpty()) {
            return AppendStore.ended();
        }
        if (requests.stream().anyMatch(AppendRequest::hasExistingId)) {
            return compareWithStored();
        }
        return numbered ? writeNumbered() : writeEach();
    }

    private Uni<Runnable> writeEach() {
        return store.storeEach(requests)
                .onItemOrFailure()
                .transformToUni((done, failure) -> failure == null ? writeRest(false) : writeAfter(failure));
    }

    /**
     * The first attempt waits for no lock for long. Later ones may hold up other writers of the sequence, so they must not wait
     * for an id.
     */
    private Uni<Runnable> writeNumbered() {
        if (attempts == 0) {
            return store.storeAll(requests, true).onFailure().recoverWithUni(this::writeAfter);
        }
        return store.endWithHeldIds(requests).chain(() -> {
            requests = AppendRequest.open(requests);
            return requests.isEmpty()
                    ? AppendStore.ended()
                    : store.storeAll(requests, false).onFailure().recoverWithUni(this::writeAfter);
        });
    }

    Uni<Runnable> writeAfter(Throwable failure) {
        requests = AppendRequest.open(requests);
        if (requests.isEmpty()) {
            return AppendStore.ended();
        }
        return switch (Kind.of(failure)) {
            case RETRYABLE -> retry(failure);
            case ID_HELD -> store.endWithHeldIds(requests).chain(() -> writeRest(false));
            case ID_EXISTS -> {
                requests.forEach(AppendRequest::noteExistingId);
                yield compareWithStored();
            }
            case APPEND_TAKEN -> requests.size() > 1 ? writeOneByOne() : refuseId(failure);
            case NO_NUMBER -> refuseNumbers();
            case REFUSED ->
                requests.size() > 1
                        ? writeOneByOne()
                        : end(new AppendOutcome.RejectedByDatabase(((PgException) failure).getSqlState()));
            case CLOSED -> end(new AppendOutcome.ProjectClosed());
            case ELSEWHERE -> writeElsewhere(failure);
            // One request may be the cause.
            case FATAL -> requests.size() > 1 ? writeOneByOne() : end(new AppendOutcome.Failed(failure));
        };
    }

    /** The next attempt draws the append's id, unless it is of one record: then it stays the same. */
    private Uni<Runnable> refuseId(Throwable failure) {
        AppendRequest request = requests.get(0);
        request.spoilBatch();
        if (request.missingIds().size() > 1) {
            return retry(failure);
        }
        request.refuseMissingId();
        return AppendStore.ended();
    }

    private Uni<Runnable> writeElsewhere(Throwable refusal) {
        if (search == null) {
            search = store.search(projectId);
        }
        return store.after(refusal, search).onItemOrFailure().transformToUni((next, failure) -> {
            if (failure instanceof ElsewhereException why) {
                return end(new AppendOutcome.Elsewhere(why));
            }
            if (failure != null) {
                return end(
                        failure instanceof ProblemException e
                                ? new AppendOutcome.Unavailable(e.problem().detail())
                                : new AppendOutcome.Failed(failure));
            }
            store = next;
            return write();
        });
    }

    private Uni<Runnable> end(AppendOutcome outcome) {
        AppendRequest.fail(requests, outcome);
        return AppendStore.ended();
    }

    /** COMMIT may have succeeded. Then the next attempt under the same ids fails with {@link Kind#ID_EXISTS}. */
    private Uni<Runnable> retry(Throwable failure) {
        if (DatabaseFailure.onlyReads(failure) && !store.hasSeenPrimary()) {
            return end(new AppendOutcome.Unavailable(DatabaseFailure.advice(failure)));
        }
        if (attempts >= store.retries()) {
            LOG.warnf("Gave up on %d requests of project %s: %s", requests.size(), projectId, failure);
            return end(new AppendOutcome.Unavailable(
                    "The database could not take the records in time. They may have been stored: send the"
                            + " request again with the same ids."));
        }
        return Uni.createFrom()
                .voidItem()
                .onItem()
                .delayIt()
                .by(store.retryDelay(attempts++))
                .chain(this::write);
    }

    /** @param progress whether the attempt before brought any request further, apart from outcomes */
    private Uni<Runnable> writeRest(boolean progress) {
        int before = requests.size();
        requests = AppendRequest.open(requests);
        boolean found =
                progress || requests.size() < before || requests.stream().anyMatch(AppendRequest::hasExistingId);
        if (!found && requests.size() > 1) {
            return writeOneByOne();
        }
        if (!found && attempts++ >= store.retries()) {
            return end(new AppendOutcome.Unavailable("Other writers took these ids or numbers. Try again."));
        }
        return write();
    }

    private Uni<Runnable> compareWithStored() {
        List<AppendRequest> compared =
                requests.stream().filter(AppendRequest::hasExistingId).toList();
        return store.findStored(projectId, compared)
                .chain(stored -> {
                    boolean found = false;
                    for (AppendRequest request : compared) {
                        found |= request.compareWith(stored, store.guids(), store.retries());
                    }
                    return writeRest(found);
                })
                .onFailure(ElsewhereException::isOf)
                .recoverWithUni(this::writeElsewhere);
    }

    private Uni<Runnable> refuseNumbers() {
        return store.readValuesLeft(projectId, requests)
                .chain(rows -> {
                    ValuesLeft left = new ValuesLeft(rows);
                    requests.forEach(left::give);
                    return writeRest(false);
                })
                .onFailure(ElsewhereException::isOf)
                .recoverWithUni(this::writeElsewhere);
    }

    private Uni<Runnable> writeOneByOne() {
        return Multi.createFrom()
                .iterable(requests)
                .onItem()
                .transformToUniAndConcatenate(
                        request -> store.writeOwn(List.of(request), null).invoke(Runnable::run))
                .collect()
                .last()
                .chain(AppendStore::ended);
    }

    private static final class ValuesLeft {

        private final Map<String, Sequence> sequences = new HashMap<>();

        private record Sequence(SequenceKind kind, boolean deleted, long left) {}

        ValuesLeft(RowSet<Row> rows) {
            for (Row row : rows) {
                sequences.put(
                        row.getString("name"),
                        new Sequence(
                                SequenceKind.valueOf(row.getString("kind")),
                                row.getBoolean("deleted"),
                                row.getLong("values_left")));
            }
        }

        void give(AppendRequest request) {
            Map<String, Long> wanted = new HashMap<>();
            List<Rejection> rejections = new ArrayList<>();
            for (int i = 0; i < request.records.size(); i++) {
                String whyNot = request.isMissing(i) ? whyNot(request.records.get(i), wanted) : null;
                if (whyNot != null) {
                    rejections.add(new Rejection(i, "/number/sequence", whyNot));
                }
            }
            if (rejections.isEmpty()) {
                wanted.forEach((name, count) -> sequences.computeIfPresent(
                        name, (same, given) -> new Sequence(given.kind, given.deleted, given.left - count)));
            } else {
                request.fail(new AppendOutcome.Rejected(Reason.NO_NUMBER, rejections));
            }
        }

        /**
         * Null if the record can get a number.
         *
         * @param wanted the values that earlier records of the request ask for; this record's is added
         */
        private @Nullable String whyNot(AuditRecord record, Map<String, Long> wanted) {
            String name = record.numberSequence();
            if (name == null) {
                return null;
            }
            Sequence sequence = sequences.get(name);
            if (sequence == null) {
                return "names a sequence that the project does not have: define it with PUT /v1/sequences/" + name;
            }
            if (sequence.deleted) {
                return "names a sequence that was deleted: name another one";
            }
            if (sequence.kind != SequenceKind.SYNCHRONOUS) {
                return "names a sequence of kind " + sequence.kind
                        + ", which leaves a gap if an append fails: name one of kind SYNCHRONOUS";
            }
            if (wanted.merge(name, 1L, Long::sum) > sequence.left) {
                return "names a sequence that is exhausted: it never starts again, so name another one";
            }
            return null;
        }
    }
}
