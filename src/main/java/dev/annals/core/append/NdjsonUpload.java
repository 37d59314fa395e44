package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Usage;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.BodyParts;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.LineSplitter;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemMapper;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestBodies;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Appends an {@code application/x-ndjson} body of any length while it streams in, one record per line, many lines in one
 * append. A refused line is counted and named; the other lines are stored, in their order. All methods run on the request's
 * event loop.
 *
 * <pre>
 * outcome of a batch                    what follows
 * stored, or stored before              its records are counted
 * some records are rejected             they are refused; the others wait again
 * the database rejects a value          its two halves wait again; a batch of one is refused
 * a batch before it was not stored      it waits again
 * the queue is full                     it waits again, at least 50 ms; after 200 times in a row the upload fails
 * any other                             the upload fails, and the problem says with which line to continue
 * </pre>
 *
 * <p>Limits: one batch is being committed, and one waits behind it. Meanwhile, nothing is read from the connection. A batch is
 * no larger than the limits allow per second, so that the project's other requests get their turn.
 *
 * <p>Order: the batches in flight form a {@link AppendRequest.Series}. When all batches of a failed series are back, the
 * waiting ones are sent in a new series.
 *
 * <p>Lines that were stored before a connection broke stay stored. A sender that sets ids may send all lines again.
 */
final class NdjsonUpload {

    /** Further refused lines are only counted. */
    static final int NAMED_REFUSALS = 100;

    private static final int BATCHES_IN_FLIGHT = 2;
    /** A record and as much white space around it. */
    private static final int MAX_LINE_BYTES = RecordReader.MAX_SENT_BYTES + RecordReader.MAX_RECORD_BYTES;

    private static final long FULL_QUEUE_DELAY_MILLIS = 50;
    private static final int FULL_QUEUE_TRIES = 200;
    /** An operator may raise the limit during a wait. */
    private static final long MOST_TURN_MILLIS = 1_000;

    private final BodyParts request;
    private final RequestBodies.BodyMemory memory;
    private final Context context;
    /** Its limits may change while the body streams in. */
    private final Supplier<Caller> caller;

    private final Usage usage;
    private final RecordReader reader;
    private final Appends appends;
    private final Appends.Counters counters;
    private final AppendBounds bounds;
    private final CompletableFuture<Summary> answer = new CompletableFuture<>();
    private final Summary summary = new Summary();

    private final LineSplitter lines = new LineSplitter(MAX_LINE_BYTES, this::readLine, this::refuseLongLine);
    private Batch gathering = new Batch();
    private final PriorityQueue<Batch> waiting = new PriorityQueue<>(Comparator.comparingLong(Batch::firstLine));
    private final List<Batch> inFlight = new ArrayList<>();
    private AppendRequest.Series series = new AppendRequest.Series();

    private boolean ended;
    private long received;
    /** While a timer runs, nothing is sent. */
    private int delays;
    /** Counted since a batch was last stored. */
    private int fullQueueTries;

    private boolean queueWasFull;
    /** In nanoseconds; 0 if no batch waits for its turn. */
    private long waitingSince;

    NdjsonUpload(
            BodyParts request,
            RequestBodies.BodyMemory memory,
            Context context,
            Supplier<Caller> caller,
            Usage usage,
            RecordReader reader,
            Appends appends,
            Appends.Counters counters,
            AppendBounds bounds) {
        this.request = request;
        this.memory = memory;
        this.context = context;
        this.caller = caller;
        this.usage = usage;
        this.reader = reader;
        this.appends = appends;
        this.counters = counters;
        this.bounds = bounds;
    }

    /** The bytes of the batches in flight, one that waits, one that gathers, and a line. */
    static long mostBytes(AppendBounds bounds) {
        return (BATCHES_IN_FLIGHT + 2) * bounds.bulkBytes() + 2L * MAX_LINE_BYTES;
    }

    /** Fails with a problem if the database or the queue stops taking records on the way. */
    CompletableFuture<Summary> run() {
        request.read(this::read, this::end, this::fail);
        return answer;
    }

    private void read(Buffer part) {
        if (answer.isDone()) {
            return;
        }
        received += lines.isSkipping() ? 0 : part.length();
        if (!memory.cover(received)) {
            fail(RequestBodies.noMemory());
            return;
        }
        lines.add(part);
    }

    private void end() {
        lines.end();
        ended = true;
        if (!gathering.records.isEmpty()) {
            appendGathered();
        }
        answerWhenDone();
    }

    private void readLine(byte[] bytes, int from, int to) {
        try {
            AuditRecord record = reader.readLine(bytes, from, to);
            FieldError ahead = Appends.ahead(caller.get(), record, "");
            if (ahead != null) {
                summary.refuse(
                        lines.count(),
                        Appends.isAhead("The record is of the future, so the line was not stored.", List.of(ahead)));
                return;
            }
            if (gathering.ids.contains(record.id())) {
                // One append cannot have an id twice. In the next one, the record is compared with the stored one.
                appendGathered();
            }
            gathering.add(record, lines.count(), to - from);
            Caller now = caller.get();
            if (gathering.records.size() >= Math.min(bounds.bulkRecords(), Usage.most(now, Limit.RECORDS_PER_SECOND))
                    || gathering.bytes >= Math.min(bounds.bulkBytes(), Usage.most(now, Limit.BYTES_PER_SECOND))) {
                appendGathered();
            }
        } catch (ProblemException e) {
            summary.refuse(lines.count(), e.problem());
        }
    }

    private void refuseLongLine(long line) {
        summary.refuse(
                line,
                Problem.of(
                        ProblemType.INVALID_RECORD,
                        "The line has more than " + MAX_LINE_BYTES + " bytes: shorten its message or metadata."));
    }

    private void appendGathered() {
        waiting.add(gathering);
        gathering = new Batch();
        sendWaiting();
        if (!hasRoom()) {
            request.pause();
        }
    }

    private boolean hasRoom() {
        return inFlight.size() < BATCHES_IN_FLIGHT && waiting.isEmpty();
    }

    private void sendWaiting() {
        for (Batch batch = waiting.peek();
                batch != null && mayBeSent(batch) && isItsTurn(batch);
                batch = waiting.peek()) {
            waiting.remove();
            inFlight.add(batch);
            send(batch);
        }
    }

    private boolean mayBeSent(Batch batch) {
        // Batches with and without numbers have different queues, and would overtake one another.
        return !answer.isDone()
                && delays == 0
                && !series.hasFailed()
                // Checks by a catalogue may overtake one another.
                && inFlight.size() < (caller.get().catalogueVersion() == 0 ? BATCHES_IN_FLIGHT : 1)
                && (inFlight.isEmpty() || inFlight.get(0).numbered == batch.numbered);
    }

    /** False if the limits are used up. The upload fails if the wait would take too long. */
    private boolean isItsTurn(Batch batch) {
        if (batch.counted) {
            return true;
        }
        Usage.TooSoon tooSoon = usage.appendInTurn(caller.get(), batch.records.size(), batch.sentBytes());
        if (tooSoon == null) {
            batch.counted = true;
            waitingSince = 0;
            return true;
        }
        long now = System.nanoTime();
        waitingSince = waitingSince == 0 ? now : waitingSince;
        if (now - waitingSince + tooSoon.delay().toNanos() <= bounds.limitWait().toNanos()) {
            delay(Math.min(MOST_TURN_MILLIS, tooSoon.delay().toMillis() + 1));
        } else if (inFlight.isEmpty()) {
            // Not earlier: the problem says how far the lines before have come.
            fail(tooSoon.problem());
        }
        return false;
    }

    private void send(Batch batch) {
        Caller from = caller.get();
        AppendRequest append = new AppendRequest(from.projectId(), from.tokenId(), batch.records, batch.bytes, series);
        var unused =
                appends.append(from, append).thenAccept(outcome -> context.runOnContext(now -> end(batch, outcome)));
    }

    private void end(Batch batch, AppendOutcome outcome) {
        if (!settle(batch, outcome)) {
            fail(((AppendOutcome.NotStored) outcome).toException(index -> "/records/" + index));
            return;
        }
        inFlight.remove(batch);
        if (inFlight.isEmpty() && series.hasFailed()) {
            series = new AppendRequest.Series();
            if (queueWasFull) {
                queueWasFull = false;
                delay(FULL_QUEUE_DELAY_MILLIS);
            }
        }
        proceed();
    }

    /** False if the upload fails. */
    private boolean settle(Batch batch, AppendOutcome outcome) {
        if (outcome instanceof AppendOutcome.Stored all) {
            stored(all.records(), all.added());
            counters.stored(all.added(), all.records().size(), batch.sentBytes());
        } else if (outcome instanceof AppendOutcome.Rejected rejected) {
            Set<Integer> refused = new HashSet<>();
            for (AppendOutcome.Rejection rejection : rejected.rejections()) {
                refused.add(rejection.index());
                summary.refuse(batch.lines.get(rejection.index()), rejected.ofLine(rejection));
            }
            waitAgain(batch, place -> !refused.contains(place));
        } else if (outcome instanceof AppendOutcome.RejectedByDatabase rejected) {
            int half = batch.records.size() / 2;
            if (half == 0) {
                summary.refuse(batch.firstLine(), rejected.problem());
            } else {
                waitAgain(batch, place -> place < half);
                waitAgain(batch, place -> place >= half);
            }
        } else if (outcome instanceof AppendOutcome.EarlierFailed) {
            waiting.add(batch);
        } else if (outcome instanceof AppendOutcome.QueueFull) {
            queueWasFull = true;
            fullQueueTries++;
            if (fullQueueTries == FULL_QUEUE_TRIES) {
                return false;
            }
            waiting.add(batch);
        } else {
            return false;
        }
        return true;
    }

    private void stored(List<StoredRecord> records, int added) {
        summary.count(records, added);
        fullQueueTries = 0;
    }

    private void waitAgain(Batch batch, IntPredicate places) {
        Batch rest = batch.only(places);
        if (!rest.records.isEmpty()) {
            waiting.add(rest);
        }
    }

    private void delay(long millis) {
        delays++;
        context.owner().setTimer(millis, timer -> {
            delays--;
            proceed();
        });
    }

    private void proceed() {
        sendWaiting();
        if (!ended && hasRoom() && !answer.isDone()) {
            request.resume();
        }
        answerWhenDone();
    }

    private void answerWhenDone() {
        if (ended && inFlight.isEmpty() && waiting.isEmpty()) {
            summary.refusals.sort(Comparator.comparingLong(Refusal::line));
            answer.complete(summary);
        }
    }

    private void fail(@Nullable Throwable failure) {
        Throwable why = failure == null ? new IllegalStateException("unknown failure") : failure;
        Problem problem = ProblemMapper.of("A body of NDJSON", why);
        if (answer.completeExceptionally(new ProblemException(summary.addTo(problem, settledLines())))) {
            request.drop();
        }
    }

    /** Every line up to this one is stored or refused. */
    private long settledLines() {
        return Stream.of(inFlight.stream(), waiting.stream(), Stream.of(gathering))
                .flatMap(batches -> batches)
                .filter(batch -> !batch.records.isEmpty())
                .mapToLong(batch -> batch.firstLine() - 1)
                .min()
                .orElse(lines.count());
    }

    private static final class Batch {
        final List<AuditRecord> records = new ArrayList<>();
        final List<Long> lines = new ArrayList<>();
        final Set<UUID> ids = new HashSet<>();
        boolean numbered;
        boolean counted;
        long bytes;

        void add(AuditRecord record, long line, int length) {
            records.add(record);
            lines.add(line);
            ids.add(record.id());
            numbered |= record.numberSequence() != null;
            bytes += length + Appends.RECORD_OVERHEAD_BYTES;
        }

        long firstLine() {
            return lines.get(0);
        }

        long sentBytes() {
            return bytes - (long) Appends.RECORD_OVERHEAD_BYTES * records.size();
        }

        Batch only(IntPredicate places) {
            Batch some = new Batch();
            for (int i = 0; i < records.size(); i++) {
                if (places.test(i)) {
                    some.add(records.get(i), lines.get(i), 0);
                }
            }
            some.bytes = bytes / records.size() * some.records.size();
            some.counted = counted;
            return some;
        }
    }

    /** @param line counted from 1 */
    private record Refusal(long line, Problem problem) {}

    static final class Summary {
        private long stored;
        private long storedBefore;
        private long firstSequenceId = Long.MAX_VALUE;

        private long lastSequenceId;
        private long refused;
        private final List<Refusal> refusals = new ArrayList<>();

        private void count(List<StoredRecord> records, int added) {
            for (StoredRecord record : records) {
                firstSequenceId = Math.min(firstSequenceId, record.sequenceId());
                lastSequenceId = Math.max(lastSequenceId, record.sequenceId());
            }
            stored += added;
            storedBefore += records.size() - added;
        }

        private void refuse(long line, Problem problem) {
            refused++;
            if (refusals.size() < NAMED_REFUSALS) {
                refusals.add(new Refusal(line, problem));
            }
        }

        /** Whether nothing is stored: a sender that looks at the status alone must not take that for success. */
        boolean isRefusal() {
            return refused > 0 && stored + storedBefore == 0;
        }

        private Problem addTo(Problem problem, long settled) {
            String detail = problem.detail() + " Every line before line " + (settled + 1)
                    + " is stored or refused; some later lines may be stored, too. Continue with that line.";
            return new Problem(
                            problem.type(),
                            problem.status(),
                            problem.title(),
                            detail,
                            problem.errors(),
                            problem.members())
                    .with("settled_lines", settled)
                    .with("stored", stored)
                    .with("stored_before", storedBefore)
                    .with("refused", refused);
        }

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
}
