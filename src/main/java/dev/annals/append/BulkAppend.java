package dev.annals.append;

import dev.annals.problem.FieldError;
import dev.annals.problem.Problem;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordJson;
import dev.annals.record.RecordReader;
import dev.annals.record.SentRecords;
import dev.annals.record.StoredRecord;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Appends an {@code application/x-ndjson} body of any length while it streams in: a record a line, many lines an append.
 *
 * <p>At most two appends are on their way at a time, one being committed and one gathering behind it; while both places
 * are taken the connection is not read, so that memory stays flat and the sender feels the database's pace. A line that
 * is refused is counted and named, and the others are stored. What was answered for, or was committed before a
 * connection broke, stays stored: a sender that gave its records ids may send them all again.
 *
 * <p>Everything happens on the request's own event loop.
 */
final class BulkAppend {

    /** How many refused lines the answer names; more are only counted. */
    static final int NAMED_REFUSALS = 100;

    private static final int APPENDS_ON_THEIR_WAY = 2;
    private static final long FULL_QUEUE_DELAY_MILLIS = 50;
    private static final int FULL_QUEUE_TRIES = 200;

    private final HttpServerRequest request;
    private final Context context;
    private final UUID projectId;
    private final RecordReader reader;
    private final AppendQueue queue;
    private final AppendConfig config;
    private final CompletableFuture<Summary> answer = new CompletableFuture<>();
    private final List<Refusal> refusals = new ArrayList<>();

    private byte[] rest = {};
    private boolean skippingLine;
    private boolean ended;
    private long lines;
    private Lines gathering = new Lines();
    /** Appends that wait until those of the other lane have come back, so that lines keep their order. */
    private final ArrayDeque<Lines> held = new ArrayDeque<>();
    /** Whether the appends on their way hold numbers. */
    private boolean numbered;

    private int onTheirWay;
    private long stored;
    private long storedBefore;
    private long refused;
    private long firstSequenceId = Long.MAX_VALUE;
    private long lastSequenceId;

    BulkAppend(
            HttpServerRequest request,
            Context context,
            UUID projectId,
            RecordReader reader,
            AppendQueue queue,
            AppendConfig config) {
        this.request = request;
        this.context = context;
        this.projectId = projectId;
        this.reader = reader;
        this.queue = queue;
        this.config = config;
    }

    /** A line that was not stored, counted from 1. */
    record Refusal(long line, Problem problem) {}

    /**
     * What became of a body.
     *
     * @param stored how many records were stored by this request
     * @param storedBefore how many had been stored by an earlier one, with the same content
     * @param firstSequenceId the lowest of both; 0 where there is none
     * @param lastSequenceId the highest of both; 0 where there is none
     * @param refused how many lines were refused
     * @param refusals the first of them
     */
    record Summary(
            long stored,
            long storedBefore,
            long firstSequenceId,
            long lastSequenceId,
            long refused,
            List<Refusal> refusals) {

        byte[] toJson() {
            return RecordJson.toBytes(256 + refusals.size() * 256, json -> {
                json.writeStartObject();
                json.writeNumberField("stored", stored);
                json.writeNumberField("stored_before", storedBefore);
                if (lastSequenceId > 0) {
                    json.writeNumberField("first_sequence_id", firstSequenceId);
                    json.writeNumberField("last_sequence_id", lastSequenceId);
                }
                json.writeNumberField("refused", refused);
                json.writeArrayFieldStart("refusals");
                for (Refusal refusal : refusals) {
                    json.writeStartObject();
                    json.writeNumberField("line", refusal.line());
                    json.writeObjectFieldStart("problem");
                    refusal.problem().writeMembers(json);
                    json.writeEndObject();
                    json.writeEndObject();
                }
                json.writeEndArray();
                json.writeEndObject();
            });
        }
    }

    /** Records that are appended together, with the lines they stand on. */
    private static final class Lines {
        final List<AuditRecord> records = new ArrayList<>();
        final List<Long> numbers = new ArrayList<>();
        final Set<UUID> ids = new HashSet<>();
        boolean numbered;
        long bytes;

        void add(AuditRecord record, long line, int length) {
            records.add(record);
            numbers.add(line);
            ids.add(record.id());
            numbered |= record.numberSequence() != null;
            bytes += length + AppendResource.RECORD_OVERHEAD_BYTES;
        }

        Lines without(Set<Integer> places) {
            Lines others = new Lines();
            long each = bytes / records.size();
            for (int i = 0; i < records.size(); i++) {
                if (!places.contains(i)) {
                    others.add(records.get(i), numbers.get(i), 0);
                    others.bytes += each;
                }
            }
            return others;
        }

        Lines only(int place) {
            Lines one = new Lines();
            one.add(records.get(place), numbers.get(place), 0);
            return one;
        }
    }

    /** Reads the body to its end. Fails with a problem where the database or the queue gives out on the way. */
    CompletableFuture<Summary> run() {
        request.exceptionHandler(this::fail);
        request.endHandler(end -> end());
        request.handler(this::read);
        request.resume();
        return answer;
    }

    private void read(Buffer part) {
        if (answer.isDone()) {
            return;
        }
        byte[] bytes = new byte[rest.length + part.length()];
        System.arraycopy(rest, 0, bytes, 0, rest.length);
        part.getBytes(bytes, rest.length);
        int from = 0;
        for (int i = rest.length; i < bytes.length; i++) {
            if (bytes[i] == '\n') {
                line(bytes, from, i);
                from = i + 1;
            }
        }
        rest = from == 0 ? bytes : Arrays.copyOfRange(bytes, from, bytes.length);
        if (rest.length > 2 * RecordReader.MAX_RECORD_BYTES) {
            // No record is that long: what is still to come of this line need not be kept.
            skippingLine = true;
            rest = new byte[0];
        }
        appendWhatIsEnough();
    }

    private void line(byte[] bytes, int from, int to) {
        lines++;
        if (skippingLine) {
            skippingLine = false;
            refuse(
                    lines,
                    Problem.of(
                            ProblemType.INVALID_RECORD,
                            "The line has more than " + RecordReader.MAX_RECORD_BYTES
                                    + " bytes: shorten its message or metadata."));
            return;
        }
        if (isBlank(bytes, from, to)) {
            return;
        }
        try {
            AuditRecord record = reader.readLine(bytes, from, to);
            if (gathering.ids.contains(record.id())) {
                // One append cannot hold an id twice; in the next it is compared with what was stored.
                append(gathering);
                gathering = new Lines();
            }
            gathering.add(record, lines, to - from);
            appendWhatIsEnough();
        } catch (ProblemException e) {
            refuse(lines, e.problem());
        }
    }

    private static boolean isBlank(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r') {
                return false;
            }
        }
        return true;
    }

    private void appendWhatIsEnough() {
        if (gathering.records.size() >= config.bulkRecords() || gathering.bytes >= config.bulkBytes()) {
            append(gathering);
            gathering = new Lines();
        }
    }

    private void end() {
        if (rest.length > 0 || skippingLine) {
            line(rest, 0, rest.length);
            rest = new byte[0];
        }
        ended = true;
        if (!gathering.records.isEmpty()) {
            append(gathering);
            gathering = new Lines();
        }
        answerWhenDone();
    }

    private void append(Lines batch) {
        held.add(batch);
        sendHeld();
        if (onTheirWay >= APPENDS_ON_THEIR_WAY || !held.isEmpty()) {
            request.pause();
        }
    }

    private void sendHeld() {
        while (!held.isEmpty() && (onTheirWay == 0 || held.element().numbered == numbered)) {
            Lines batch = held.remove();
            numbered = batch.numbered;
            onTheirWay++;
            send(batch, 1);
        }
    }

    private void send(Lines batch, int attempt) {
        SentRecords sent = new SentRecords(true, batch.records);
        queue.append(projectId, sent, batch.bytes)
                .subscribe()
                .with(
                        appended -> context.runOnContext(now -> done(appended)),
                        failure -> context.runOnContext(now -> failed(batch, attempt, failure)));
    }

    private void done(Appended appended) {
        for (StoredRecord record : appended.records()) {
            firstSequenceId = Math.min(firstSequenceId, record.sequenceId());
            lastSequenceId = Math.max(lastSequenceId, record.sequenceId());
        }
        stored += appended.added();
        storedBefore += appended.records().size() - appended.added();
        oneLess();
    }

    private void failed(Lines batch, int attempt, Throwable failure) {
        if (!(failure instanceof ProblemException e)) {
            fail(failure);
            return;
        }
        switch (e.problem().type()) {
            case QUEUE_FULL -> {
                if (attempt < FULL_QUEUE_TRIES) {
                    context.owner().setTimer(FULL_QUEUE_DELAY_MILLIS, timer -> send(batch, attempt + 1));
                } else {
                    fail(e);
                }
            }
            case RECORD_ID_TAKEN -> {
                Set<Integer> taken = placesOf(e.problem().errors());
                taken.forEach(place -> refuse(
                        batch.numbers.get(place),
                        Problem.of(ProblemType.RECORD_ID_TAKEN, e.problem().detail())));
                sendOthers(batch.without(taken));
            }
            case INVALID_RECORD -> {
                if (!e.problem().errors().isEmpty()) {
                    sendOthers(batch.without(refuse(batch, e.problem())));
                } else if (batch.records.size() == 1) {
                    refuse(batch.numbers.get(0), e.problem());
                    oneLess();
                } else {
                    // The database does not say which record it refuses: each goes alone.
                    onTheirWay += batch.records.size() - 1;
                    for (int i = 0; i < batch.records.size(); i++) {
                        send(batch.only(i), 1);
                    }
                }
            }
            default -> fail(e);
        }
    }

    /** Refuses the lines of a batch that a problem names, each with what concerns it. */
    private Set<Integer> refuse(Lines batch, Problem problem) {
        for (FieldError error : problem.errors()) {
            int end = error.pointer().indexOf('/', 1);
            FieldError inLine = new FieldError(error.pointer().substring(end), error.detail());
            refuse(
                    batch.numbers.get(Integer.parseInt(error.pointer().substring(1, end))),
                    Problem.of(problem.type(), "The record cannot have a number, so the line was not stored")
                            .withErrors(List.of(inLine)));
        }
        return placesOf(problem.errors());
    }

    private void sendOthers(Lines others) {
        if (others.records.isEmpty()) {
            oneLess();
        } else {
            send(others, 1);
        }
    }

    private static Set<Integer> placesOf(List<FieldError> errors) {
        Set<Integer> places = new HashSet<>();
        for (FieldError error : errors) {
            places.add(Integer.parseInt(
                    error.pointer().substring(1, error.pointer().indexOf('/', 1))));
        }
        return places;
    }

    private void oneLess() {
        onTheirWay--;
        sendHeld();
        if (!ended && onTheirWay < APPENDS_ON_THEIR_WAY && held.isEmpty() && !answer.isDone()) {
            request.resume();
        }
        answerWhenDone();
    }

    private void refuse(long line, Problem problem) {
        refused++;
        if (refusals.size() < NAMED_REFUSALS) {
            refusals.add(new Refusal(line, problem));
        }
    }

    private void answerWhenDone() {
        if (ended && onTheirWay == 0) {
            refusals.sort((a, b) -> Long.compare(a.line(), b.line()));
            answer.complete(new Summary(
                    stored,
                    storedBefore,
                    lastSequenceId == 0 ? 0 : firstSequenceId,
                    lastSequenceId,
                    refused,
                    List.copyOf(refusals)));
        }
    }

    private void fail(@Nullable Throwable failure) {
        if (answer.completeExceptionally(failure == null ? new IllegalStateException("unknown failure") : failure)) {
            // What still comes is dropped as it arrives.
            request.handler(part -> {});
            request.resume();
        }
    }
}
