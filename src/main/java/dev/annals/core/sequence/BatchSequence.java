package dev.annals.core.sequence;

import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * {@link SequenceKind#BATCH}, {@link SequenceKind#ASYNC_BATCH} and {@link SequenceKind#RECYCLED_SERIES}: hands out reserved
 * values, and reserves more when fewer are left than the low-water mark.
 *
 * <p>One refill is in flight. Callers that find too few values wait for it, in order. They learn of a failure once its retries
 * are used up.
 */
final class BatchSequence implements SequenceGenerator {

    private static final Logger LOG = Logger.getLogger(BatchSequence.class);

    /** With the delays below, callers wait for seven seconds: long enough for a restart of the database, short of clients' patience. */
    static final int RETRIES = 8;

    static final Duration RETRY_DELAY = Duration.ofMillis(50);
    static final Duration MAX_RETRY_DELAY = Duration.ofSeconds(2);
    /** Callers that wait take a few hundred bytes each. */
    static final int MAX_WAITING = 4096;

    private final ValueSource source;
    private final String name;
    private final int batchSize;
    private final int lowWaterMark;
    private final int retries;

    private final Object lock = new Object();
    private final ArrayDeque<ValueSource.Range> reserved = new ArrayDeque<>();
    private final ArrayDeque<Waiter> waiting = new ArrayDeque<>();
    private long available;
    private long demand;
    private boolean refilling;
    /** The reason why no more values follow; null while they may. */
    private @Nullable ProblemException end;

    BatchSequence(ValueSource source, String name, int batchSize, int lowWaterMark) {
        this(source, name, batchSize, lowWaterMark, RETRIES);
    }

    BatchSequence(ValueSource source, String name, int batchSize, int lowWaterMark, int retries) {
        this.source = source;
        this.name = name;
        this.batchSize = batchSize;
        this.lowWaterMark = lowWaterMark;
        this.retries = retries;
    }

    private record Waiter(int count, CompletableFuture<SequenceBlock> answer) {}

    @Override
    public Uni<SequenceBlock> next(int count) {
        SequenceGenerator.requireCount(count);
        return Uni.createFrom().deferred(() -> draw(count));
    }

    private Uni<SequenceBlock> draw(int count) {
        @Nullable SequenceBlock block = null;
        CompletableFuture<SequenceBlock> answer = new CompletableFuture<>();
        long refill;
        synchronized (lock) {
            if (end != null && (available < count || isDeleted(end))) {
                throw end;
            }
            if (waiting.isEmpty() && available >= count) {
                block = take(count);
            } else if (waiting.size() >= MAX_WAITING) {
                throw new ProblemException(
                        ProblemType.QUEUE_FULL, "Too many requests wait for values of the sequence " + name + ".");
            } else {
                waiting.add(new Waiter(count, answer));
                demand += count;
            }
            refill = beginRefill();
        }
        if (refill > 0) {
            refill(refill, 0);
        }
        return block != null ? Uni.createFrom().item(block) : Uni.createFrom().completionStage(answer);
    }

    private SequenceBlock take(int count) {
        long[] values = new long[count];
        int taken = 0;
        while (taken < count) {
            ValueSource.Range range = reserved.remove();
            int from = (int) Math.min(range.count(), count - taken);
            for (int i = 0; i < from; i++) {
                values[taken++] = range.first() + i;
            }
            if (from < range.count()) {
                reserved.addFirst(new ValueSource.Range(range.first() + from, range.count() - from));
            }
        }
        available -= count;
        return SequenceBlock.of(values);
    }

    /** The number of values to fetch; 0 if none are needed or a refill is in flight. */
    private long beginRefill() {
        long left = available - demand;
        if (refilling || end != null || left >= lowWaterMark) {
            return 0;
        }
        refilling = true;
        return Math.max(batchSize, -left);
    }

    private void refill(long wanted, int attempt) {
        Uni.createFrom()
                .deferred(() -> source.reserve(wanted))
                .subscribe()
                .with(this::refilled, failure -> refillFailed(failure, wanted, attempt));
    }

    private void refilled(ValueSource.Range range) {
        List<Runnable> answers = new ArrayList<>();
        long more;
        synchronized (lock) {
            reserved.add(range);
            available += range.count();
            refilling = false;
            while (!waiting.isEmpty() && waiting.element().count() <= available) {
                answers.add(served(waiting.remove()));
            }
            more = beginRefill();
        }
        if (more > 0) {
            refill(more, 0);
        }
        answers.forEach(Runnable::run);
    }

    private void refillFailed(Throwable failure, long wanted, int attempt) {
        boolean passing = DatabaseFailure.isTransient(failure);
        if (passing && attempt < retries) {
            Uni.createFrom()
                    .voidItem()
                    .onItem()
                    .delayIt()
                    .by(DatabaseFailure.backOff(RETRY_DELAY, MAX_RETRY_DELAY, attempt))
                    .subscribe()
                    .with(later -> refill(wanted, attempt + 1));
            return;
        }
        LOG.warnf("No values for the sequence %s: %s", name, failure);
        List<Runnable> answers = new ArrayList<>();
        synchronized (lock) {
            refilling = false;
            if (failure instanceof ProblemException problem) {
                end = problem;
            }
            while (!waiting.isEmpty()) {
                Waiter next = waiting.remove();
                if (next.count() <= available && !isDeleted(failure)) {
                    answers.add(served(next));
                } else {
                    demand -= next.count();
                    answers.add(() -> next.answer().completeExceptionally(failure));
                }
            }
        }
        answers.forEach(Runnable::run);
    }

    private Runnable served(Waiter waiter) {
        demand -= waiter.count();
        SequenceBlock block = take(waiter.count());
        return () -> waiter.answer().complete(block);
    }

    private static boolean isDeleted(Throwable failure) {
        return failure instanceof ProblemException problem && problem.problem().type() == ProblemType.SEQUENCE_DELETED;
    }
}
