package dev.annals.append;

import dev.annals.http.BodyParts;
import dev.annals.http.FieldError;
import dev.annals.http.JsonBody;
import dev.annals.http.Problem;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemMapper;
import dev.annals.http.ProblemType;
import dev.annals.http.RequestBodies;
import dev.annals.project.Caller;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordReader;
import dev.annals.record.StoredRecord;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Appends an {@code application/x-ndjson} body of any length while it streams in: a record a line, many lines an append.
 *
 * <p>At most two batches are on their way at a time, one being committed and one gathering behind it; while both places
 * are taken the connection is not read, so that memory stays flat and the sender feels the database's pace. A line that
 * is refused is counted and named, and the others are stored. What was answered for, or was committed before a
 * connection broke, stays stored: a sender that gave its records ids may send them all again.
 *
 * <p>Lines are stored in their order. The batches are a {@link Chain}: when one is not stored whole, neither is the one
 * behind it. Once both have come back, what is left of them is sent again in a new chain, in the order of the lines.
 *
 * <p>Everything happens on the request's own event loop.
 */
final class NdjsonUpload {

    /** How many refused lines the answer names; more are only counted. */
    static final int NAMED_REFUSALS = 100;

    private static final int BATCHES_ON_THEIR_WAY = 2;
    private static final String RECORDS = "/records/";
    private static final long FULL_QUEUE_DELAY_MILLIS = 50;
    private static final int FULL_QUEUE_TRIES = 200;

    private final BodyParts request;
    private final RequestBodies.Held memory;
    private final Context context;
    private final Caller caller;
    private final RecordReader reader;
    private final AppendWriter queue;
    private final AppendConfig config;
    private final CompletableFuture<Summary> answer = new CompletableFuture<>();
    private final List<Refusal> refusals = new ArrayList<>();

    private byte[] rest = {};
    private boolean skippingLine;
    private boolean ended;
    private long received;
    private long lines;
    private Lines gathering = new Lines();
    /** Batches that are still to be sent, in the order of their lines. */
    private final ArrayDeque<Lines> held = new ArrayDeque<>();

    private final List<Lines> onTheirWay = new ArrayList<>();
    /** What was not stored of batches that came back while another one was still on its way. */
    private final List<Lines> notStored = new ArrayList<>();

    private Chain chain = new Chain();
    /** Whether the batches on their way hold numbers: those with and those without are different lanes of the queue. */
    private boolean numbered;
    /** How often the queue was full since a batch was stored. */
    private int fullQueueTries;
    /** Whether to wait a little before anything is sent again. */
    private boolean queueWasFull;

    private long stored;
    private long storedBefore;
    private long refused;
    private long firstSequenceId = Long.MAX_VALUE;
    private long lastSequenceId;

    NdjsonUpload(
            BodyParts request,
            RequestBodies.Held memory,
            Context context,
            Caller caller,
            RecordReader reader,
            AppendWriter queue,
            AppendConfig config) {
        this.request = request;
        this.memory = memory;
        this.context = context;
        this.caller = caller;
        this.reader = reader;
        this.queue = queue;
        this.config = config;
    }

    /** How much of a body is held at a time at most: what is on its way, what gathers, and the line that is not complete. */
    static long mostBytes(AppendConfig config) {
        return (BATCHES_ON_THEIR_WAY + 2) * config.bulkBytes() + 4L * RecordReader.MAX_RECORD_BYTES;
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
            return JsonBody.toBytes(256 + refusals.size() * 256, json -> {
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

        long firstLine() {
            return numbers.get(0);
        }

        Lines without(Set<Integer> places) {
            return only(place -> !places.contains(place));
        }

        Lines only(IntPredicate places) {
            Lines some = new Lines();
            for (int i = 0; i < records.size(); i++) {
                if (places.test(i)) {
                    some.add(records.get(i), numbers.get(i), 0);
                }
            }
            some.bytes = bytes / records.size() * some.records.size();
            return some;
        }
    }

    /** Reads the body to its end. Fails with a problem where the database or the queue gives out on the way. */
    CompletableFuture<Summary> run() {
        request.read(this::read, this::end, this::fail);
        return answer;
    }

    private void read(Buffer part) {
        if (answer.isDone()) {
            return;
        }
        // Nothing is kept of a line that is too long.
        received += skippingLine ? 0 : part.length();
        if (!memory.cover(received)) {
            fail(RequestBodies.noMemory());
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
        if (onTheirWay.size() >= BATCHES_ON_THEIR_WAY || !held.isEmpty()) {
            request.pause();
        }
    }

    private void sendHeld() {
        while (mayBeSent(held.peek())) {
            Lines batch = held.remove();
            numbered = batch.numbered;
            onTheirWay.add(batch);
            send(batch);
        }
    }

    /** Whether there is such a batch, and room for it in the chain that is on its way. */
    private boolean mayBeSent(@Nullable Lines batch) {
        return batch != null
                && !answer.isDone()
                && notStored.isEmpty()
                && !queueWasFull
                && onTheirWay.size() < BATCHES_ON_THEIR_WAY
                && (onTheirWay.isEmpty() || batch.numbered == numbered);
    }

    private void send(Lines batch) {
        AppendRequest append = new AppendRequest(batch.records, true, caller.tokenId(), batch.bytes, chain);
        var unused = queue.append(caller.projectId(), append)
                .whenComplete((appended, failure) -> context.runOnContext(now -> {
                    if (failure == null) {
                        done(batch, appended);
                    } else {
                        failed(batch, failure);
                    }
                }));
    }

    private void done(Lines batch, Appended appended) {
        for (StoredRecord record : appended.records()) {
            firstSequenceId = Math.min(firstSequenceId, record.sequenceId());
            lastSequenceId = Math.max(lastSequenceId, record.sequenceId());
        }
        stored += appended.added();
        storedBefore += appended.records().size() - appended.added();
        fullQueueTries = 0;
        cameBack(batch);
    }

    private void failed(Lines batch, Throwable failure) {
        if (failure instanceof Chain.Broken) {
            notStored.add(batch);
            cameBack(batch);
        } else if (failure instanceof ProblemException e && mayGoOn(batch, e.problem())) {
            cameBack(batch);
        } else {
            fail(failure);
        }
    }

    /** Refuses the lines that a problem is about, and keeps the others to be sent again; false where that is no help. */
    private boolean mayGoOn(Lines batch, Problem problem) {
        switch (problem.type()) {
            case QUEUE_FULL -> {
                fullQueueTries++;
                queueWasFull = true;
                notStored.add(batch);
                return fullQueueTries < FULL_QUEUE_TRIES;
            }
            case RECORD_ID_TAKEN -> {
                Set<Integer> taken = placesOf(problem.errors());
                taken.forEach(place ->
                        refuse(batch.numbers.get(place), Problem.of(ProblemType.RECORD_ID_TAKEN, problem.detail())));
                keep(batch.without(taken));
                return true;
            }
            case INVALID_RECORD -> {
                int size = batch.records.size();
                if (!problem.errors().isEmpty()) {
                    keep(batch.without(refuse(batch, problem)));
                } else if (size == 1) {
                    refuse(batch.firstLine(), problem);
                } else {
                    // The database does not say which record it refuses: the half with none of them is stored.
                    keep(batch.only(place -> place < size / 2));
                    keep(batch.only(place -> place >= size / 2));
                }
                return true;
            }
            default -> {
                return false;
            }
        }
    }

    private void keep(Lines rest) {
        if (!rest.records.isEmpty()) {
            notStored.add(rest);
        }
    }

    /** Refuses the lines of a batch that a problem names, each with what concerns it. */
    private Set<Integer> refuse(Lines batch, Problem problem) {
        for (FieldError error : problem.errors()) {
            int end = error.pointer().indexOf('/', RECORDS.length());
            FieldError inLine = new FieldError(error.pointer().substring(end), error.detail());
            refuse(
                    batch.numbers.get(Integer.parseInt(error.pointer().substring(RECORDS.length(), end))),
                    Problem.of(problem.type(), "The record cannot have a number, so the line was not stored")
                            .withErrors(List.of(inLine)));
        }
        return placesOf(problem.errors());
    }

    private static Set<Integer> placesOf(List<FieldError> errors) {
        Set<Integer> places = new HashSet<>();
        for (FieldError error : errors) {
            places.add(Integer.parseInt(
                    error.pointer().substring(RECORDS.length(), error.pointer().indexOf('/', RECORDS.length()))));
        }
        return places;
    }

    private void cameBack(Lines batch) {
        onTheirWay.remove(batch);
        if (onTheirWay.isEmpty() && chain.isBroken()) {
            notStored.sort(Comparator.comparingLong(Lines::firstLine).reversed());
            notStored.forEach(held::addFirst);
            notStored.clear();
            chain = new Chain();
            if (queueWasFull) {
                context.owner().setTimer(FULL_QUEUE_DELAY_MILLIS, timer -> {
                    queueWasFull = false;
                    goOn();
                });
            }
        }
        goOn();
    }

    private void goOn() {
        sendHeld();
        if (!ended && onTheirWay.size() < BATCHES_ON_THEIR_WAY && held.isEmpty() && !answer.isDone()) {
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
        if (ended && onTheirWay.isEmpty() && held.isEmpty()) {
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
        Throwable why = failure == null ? new IllegalStateException("unknown failure") : failure;
        Problem problem = ProblemMapper.of("A body of NDJSON", why);
        if (answer.completeExceptionally(tellHowFar(problem))) {
            request.drop();
        }
    }

    private ProblemException tellHowFar(Problem problem) {
        long settled = lines;
        for (Collection<Lines> batches : List.of(onTheirWay, notStored, held)) {
            for (Lines batch : batches) {
                settled = Math.min(settled, batch.firstLine() - 1);
            }
        }
        if (!gathering.records.isEmpty()) {
            settled = Math.min(settled, gathering.firstLine() - 1);
        }
        String detail = problem.detail() + " Every line of the body before line " + (settled + 1)
                + " is stored or refused, and what else is stored stands right behind them: go on with that line.";
        return new ProblemException(new Problem(
                        problem.type(), problem.status(), problem.title(), detail, problem.errors(), problem.members())
                .with("settled_lines", settled)
                .with("stored", stored)
                .with("stored_before", storedBefore)
                .with("refused", refused));
    }
}
