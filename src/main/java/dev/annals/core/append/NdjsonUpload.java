package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Usage;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.BodyParts;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemMapper;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestBodies;
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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Appends an {@code application/x-ndjson} body of any length while it streams in. There is one record per line, and many
 * lines are appended together.
 *
 * <p>At most two batches are in flight at a time, one being committed and one waiting behind it. While there are two,
 * nothing is read from the connection, so memory use stays flat and the sender is slowed to the database's pace. A line that
 * is refused is counted and named, and the others are stored. Lines that were committed before a connection broke stay
 * stored: a sender that gave its records ids may send them all again.
 *
 * <p>So is a sender that is at a limit of its project or token: its batches wait until it is their turn. They are no larger
 * than what is allowed in a second, so that other requests of the project get their turn, too.
 *
 * <p>Lines are stored in their order. The batches are a {@link AppendRequest.Series}: if one is not stored completely, the one behind it is
 * not stored at all. Once both have come back, what is left of them is sent again in a new series, in the order of the lines.
 *
 * <p>Everything happens on the request's own event loop.
 */
final class NdjsonUpload {

    /** How many refused lines the answer names; further ones are only counted. */
    static final int NAMED_REFUSALS = 100;

    private static final int BATCHES_IN_FLIGHT = 2;
    /** With some white space around the record. */
    private static final int MAX_LINE_BYTES = RecordReader.MAX_SENT_BYTES + RecordReader.MAX_RECORD_BYTES;

    private static final long FULL_QUEUE_DELAY_MILLIS = 50;
    private static final int FULL_QUEUE_TRIES = 200;
    /** After that, a batch asks again: the limit may have been raised. */
    private static final long MOST_TURN_MILLIS = 1_000;

    /** U+FEFF in UTF-8, which some editors and programs on Windows write first. */
    private static final byte[] BYTE_ORDER_MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

    private final BodyParts request;
    private final RequestBodies.Held memory;
    private final Context context;
    /** Its limits may change while the body streams in. */
    private final Supplier<Caller> caller;

    private final Usage usage;
    private final RecordReader reader;
    private final AppendQueue queues;
    private final Appends.Counters counters;
    private final AppendBounds bounds;
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

    private final List<Lines> inFlight = new ArrayList<>();
    /** The parts of returned batches that were not stored and have to be sent again. */
    private final List<Lines> notStored = new ArrayList<>();

    private AppendRequest.Series series = new AppendRequest.Series();
    /** Whether the batches in flight have numbers: batches with and without numbers go to different queues. */
    private boolean numbered;
    /** How often the queue was full since a batch was last stored. */
    private int fullQueueTries;
    /** Whether to wait a little before anything is sent again. */
    private boolean queueWasFull;
    /** Whether a limit is used up, and since when the next batch waits; 0 if it does not. */
    private boolean waitsForTurn;

    private long waitingSince;

    private long stored;
    private long storedBefore;
    private long refused;
    private long firstSequenceId = Long.MAX_VALUE;
    private long lastSequenceId;

    NdjsonUpload(
            BodyParts request,
            RequestBodies.Held memory,
            Context context,
            Supplier<Caller> caller,
            Usage usage,
            RecordReader reader,
            AppendQueue queues,
            Appends.Counters counters,
            AppendBounds bounds) {
        this.request = request;
        this.memory = memory;
        this.context = context;
        this.caller = caller;
        this.usage = usage;
        this.reader = reader;
        this.queues = queues;
        this.counters = counters;
        this.bounds = bounds;
    }

    /** How much of a body is held at a time at most: what is in flight, what is being gathered, and the incomplete line. */
    static long mostBytes(AppendBounds bounds) {
        return (BATCHES_IN_FLIGHT + 2) * bounds.bulkBytes() + 2L * MAX_LINE_BYTES;
    }

    /** A line that was not stored, counted from 1. */
    record Refusal(long line, Problem problem) {}

    /**
     * What became of a body.
     *
     * @param stored how many records this request stored
     * @param storedBefore how many were already stored, with the same content
     * @param firstSequenceId the lowest of both; 0 if there is none
     * @param lastSequenceId the highest of both; 0 if there is none
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

        /** Whether nothing of the body is stored: a sender that looks at the status alone must not take that for success. */
        boolean isRefusal() {
            return refused > 0 && stored + storedBefore == 0;
        }

        /** The members of a problem come first if it is a refusal. */
        byte[] toJson() {
            return JsonBody.toBytes(256 + refusals.size() * 256, json -> {
                json.writeStartObject();
                if (isRefusal()) {
                    Problem.of(
                                    ProblemType.ALL_LINES_REFUSED,
                                    "Nothing was stored: correct what refusals names, and send these lines again.")
                            .writeMembers(json);
                }
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

    /** Records that are appended together, with their line numbers. */
    private static final class Lines {
        final List<AuditRecord> records = new ArrayList<>();
        final List<Long> numbers = new ArrayList<>();
        final Set<UUID> ids = new HashSet<>();
        boolean numbered;
        /** Whether they were counted against the limits. */
        boolean counted;

        long bytes;

        void add(AuditRecord record, long line, int length) {
            records.add(record);
            numbers.add(line);
            ids.add(record.id());
            numbered |= record.numberSequence() != null;
            bytes += length + Appends.RECORD_OVERHEAD_BYTES;
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
            some.counted = counted;
            return some;
        }
    }

    /** Reads the body to its end. Fails with a problem if the database or the queue stops taking records on the way. */
    CompletableFuture<Summary> run() {
        request.read(this::read, this::end, this::fail);
        return answer;
    }

    private void read(Buffer part) {
        if (answer.isDone()) {
            return;
        }
        // Lines that are too long are not kept.
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
        if (rest.length > MAX_LINE_BYTES) {
            // No record is that long, so the rest of this line need not be kept.
            skippingLine = true;
            rest = new byte[0];
        }
        appendWhatIsEnough();
    }

    private static boolean beginsWithMark(byte[] bytes, int from, int to) {
        int end = from + BYTE_ORDER_MARK.length;
        return end <= to && Arrays.equals(bytes, from, end, BYTE_ORDER_MARK, 0, BYTE_ORDER_MARK.length);
    }

    private void line(byte[] bytes, int from, int to) {
        lines++;
        if (skippingLine) {
            skippingLine = false;
            refuse(
                    lines,
                    Problem.of(
                            ProblemType.INVALID_RECORD,
                            "The line has more than " + MAX_LINE_BYTES + " bytes: shorten its message or metadata."));
            return;
        }
        int begin = lines == 1 && beginsWithMark(bytes, from, to) ? from + BYTE_ORDER_MARK.length : from;
        if (isBlank(bytes, begin, to)) {
            return;
        }
        try {
            AuditRecord record = reader.readLine(bytes, begin, to);
            if (gathering.ids.contains(record.id())) {
                // One append cannot have an id twice. In the next one, the record is compared with the stored one.
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
        Caller now = caller.get();
        if (gathering.records.size() >= Math.min(bounds.bulkRecords(), Usage.most(now, Limit.RECORDS_PER_SECOND))
                || gathering.bytes >= Math.min(bounds.bulkBytes(), Usage.most(now, Limit.BYTES_PER_SECOND))) {
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
        if (inFlight.size() >= BATCHES_IN_FLIGHT || !held.isEmpty()) {
            request.pause();
        }
    }

    private void sendHeld() {
        while (mayBeSent(held.peek()) && isItsTurn(held.getFirst())) {
            Lines batch = held.remove();
            numbered = batch.numbered;
            inFlight.add(batch);
            send(batch);
        }
    }

    /** Whether there is such a batch, and room for it in the series that is in flight. */
    private boolean mayBeSent(@Nullable Lines batch) {
        return batch != null
                && !answer.isDone()
                && notStored.isEmpty()
                && !queueWasFull
                && !waitsForTurn
                && inFlight.size() < BATCHES_IN_FLIGHT
                && (inFlight.isEmpty() || batch.numbered == numbered);
    }

    /** Counts a batch against the limits. If they are used up, waits; if that would take too long, the import ends. */
    private boolean isItsTurn(Lines batch) {
        if (batch.counted) {
            return true;
        }
        long overhead = (long) Appends.RECORD_OVERHEAD_BYTES * batch.records.size();
        Usage.TooSoon tooSoon = usage.appendInTurn(caller.get(), batch.records.size(), batch.bytes - overhead);
        if (tooSoon == null) {
            batch.counted = true;
            waitingSince = 0;
            return true;
        }
        long now = System.nanoTime();
        waitingSince = waitingSince == 0 ? now : waitingSince;
        if (now - waitingSince + tooSoon.delay().toNanos() > bounds.limitWait().toNanos()) {
            // Only once it is known what became of the lines before.
            if (inFlight.isEmpty()) {
                fail(tooSoon.problem());
            }
            return false;
        }
        waitsForTurn = true;
        long millis = Math.min(MOST_TURN_MILLIS, tooSoon.delay().toMillis() + 1);
        context.owner().setTimer(millis, timer -> {
            waitsForTurn = false;
            proceed();
        });
        return false;
    }

    private void send(Lines batch) {
        Caller from = caller.get();
        AppendRequest append = new AppendRequest(from.projectId(), from.tokenId(), batch.records, batch.bytes, series);
        var unused = queues.append(append).thenAccept(outcome -> context.runOnContext(now -> cameBack(batch, outcome)));
    }

    private void cameBack(Lines batch, AppendOutcome outcome) {
        if (settle(batch, outcome)) {
            inFlight.remove(batch);
            sendAgainOnceAllAreBack();
            proceed();
        } else {
            fail(((AppendOutcome.NotStored) outcome).toException(index -> "/records/" + index));
        }
    }

    /**
     * Counts what is stored, refuses what is rejected, and keeps the rest to be sent again; false if the import has to end.
     */
    private boolean settle(Lines batch, AppendOutcome outcome) {
        if (outcome instanceof AppendOutcome.Stored all) {
            stored(all.records(), all.added());
            long overhead = (long) Appends.RECORD_OVERHEAD_BYTES * batch.records.size();
            counters.stored(all.added(), all.records().size(), batch.bytes - overhead);
        } else if (outcome instanceof AppendOutcome.Rejected rejected) {
            Set<Integer> places = new HashSet<>();
            for (AppendOutcome.Rejection rejection : rejected.rejections()) {
                places.add(rejection.index());
                refuse(batch.numbers.get(rejection.index()), rejected.ofLine(rejection));
            }
            keep(batch.without(places));
        } else if (outcome instanceof AppendOutcome.RejectedByDatabase rejected) {
            int size = batch.records.size();
            if (size == 1) {
                refuse(batch.firstLine(), rejected.problem());
            } else {
                // The database does not say which record it refuses. Halving stores everything but the refused ones.
                keep(batch.only(place -> place < size / 2));
                keep(batch.only(place -> place >= size / 2));
            }
        } else if (outcome instanceof AppendOutcome.EarlierFailed) {
            notStored.add(batch);
        } else if (outcome instanceof AppendOutcome.QueueFull) {
            fullQueueTries++;
            queueWasFull = true;
            notStored.add(batch);
            return fullQueueTries < FULL_QUEUE_TRIES;
        } else {
            return false;
        }
        return true;
    }

    private void stored(List<StoredRecord> records, int added) {
        for (StoredRecord record : records) {
            firstSequenceId = Math.min(firstSequenceId, record.sequenceId());
            lastSequenceId = Math.max(lastSequenceId, record.sequenceId());
        }
        stored += added;
        storedBefore += records.size() - added;
        fullQueueTries = 0;
    }

    private void keep(Lines rest) {
        if (!rest.records.isEmpty()) {
            notStored.add(rest);
        }
    }

    private void sendAgainOnceAllAreBack() {
        if (inFlight.isEmpty() && series.hasFailed()) {
            notStored.sort(Comparator.comparingLong(Lines::firstLine).reversed());
            notStored.forEach(held::addFirst);
            notStored.clear();
            series = new AppendRequest.Series();
            if (queueWasFull) {
                context.owner().setTimer(FULL_QUEUE_DELAY_MILLIS, timer -> {
                    queueWasFull = false;
                    proceed();
                });
            }
        }
    }

    private void proceed() {
        sendHeld();
        if (!ended && inFlight.size() < BATCHES_IN_FLIGHT && held.isEmpty() && !answer.isDone()) {
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
        if (ended && inFlight.isEmpty() && held.isEmpty()) {
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
        for (Collection<Lines> batches : List.of(inFlight, notStored, held)) {
            for (Lines batch : batches) {
                settled = Math.min(settled, batch.firstLine() - 1);
            }
        }
        if (!gathering.records.isEmpty()) {
            settled = Math.min(settled, gathering.firstLine() - 1);
        }
        String detail = problem.detail() + " Every line before line " + (settled + 1)
                + " is stored or refused; some later lines may be stored, too. Continue with that line.";
        return new ProblemException(new Problem(
                        problem.type(), problem.status(), problem.title(), detail, problem.errors(), problem.members())
                .with("settled_lines", settled)
                .with("stored", stored)
                .with("stored_before", storedBefore)
                .with("refused", refused));
    }
}
