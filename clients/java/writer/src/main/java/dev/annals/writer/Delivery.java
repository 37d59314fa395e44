package dev.annals.writer;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Sends the records of a source, one batch at a time, which keeps their order. A batch ends when each of its records is stored or refused.
 */
final class Delivery implements Runnable {

    private static final Pattern OF_ACTION = Pattern.compile("\"/records/\\d{1,9}/action\"");

    private final Source source;
    private final Endpoint endpoint;
    private final Retries retries;
    private final Consumer<Refusal> refusals;
    private final Counters counters;
    private final CompletableFuture<Void> stop = new CompletableFuture<>();

    Delivery(Source source, Endpoint endpoint, Retries retries, Consumer<Refusal> refusals, Counters counters) {
        this.source = source;
        this.endpoint = endpoint;
        this.retries = retries;
        this.refusals = refusals;
        this.counters = counters;
    }

    static final class Retries {
        final Duration first;
        final Duration longest;
        /** Null for never. */
        final Duration limit;

        Retries(Duration first, Duration longest, Duration limit) {
            this.first = first;
            this.longest = longest;
            this.limit = limit;
        }
    }

    @Override
    public void run() {
        while (!stop.isDone()) {
            try {
                List<Entry> batch = source.next();
                if (batch == null || !deliver(batch)) {
                    return;
                }
                source.settled();
            } catch (IOException | RuntimeException e) {
                // The records still exist, and no other thread sends them: go on after any fault.
                counters.sendingFailed("The records cannot be read or settled: " + e);
                pause(retries.longest);
            }
        }
    }

    /** Stops, also in the middle of a batch. */
    void stop() {
        stop.complete(null);
    }

    /** Returns false if this was stopped before each record was stored or refused. */
    // Java 11 has no other switch.
    @SuppressWarnings("StatementSwitchToExpressionSwitch")
    private boolean deliver(List<Entry> batch) {
        Deque<List<Entry>> parts = new ArrayDeque<>();
        parts.add(batch);
        while (!parts.isEmpty()) {
            List<Entry> part = parts.pop();
            Answer answer = attempt(part);
            switch (answer.kind) {
                case STORED:
                    counters.stored(part.size());
                    part.forEach(record -> record.acknowledgement.complete(record.id));
                    break;
                case REFUSED:
                    refuse(part, answer, parts);
                    break;
                case SPLIT:
                    split(part, answer.reason, parts);
                    break;
                case LATER:
                    if (stop.isDone()) {
                        return false;
                    }
                    part.forEach(record -> refuse(record, "Given up: " + answer.reason));
                    break;
            }
        }
        return true;
    }

    /** Sends a batch until the answer is final. */
    private Answer attempt(List<Entry> batch) {
        long start = System.nanoTime();
        Duration pause = retries.first;
        while (true) {
            Answer answer = endpoint.send(batch, stop);
            if (answer.kind != Answer.Kind.LATER) {
                counters.answered();
                return answer;
            }
            if (stop.isDone()) {
                return answer;
            }
            counters.sendingFailed(answer.reason);
            if (retries.limit != null && System.nanoTime() - start >= retries.limit.toNanos()) {
                return answer;
            }
            // Clients that failed together must not retry together.
            long jitter = ThreadLocalRandom.current().nextLong(pause.toMillis() / 2 + 1);
            pause(shorter(longer(pause.minusMillis(jitter), answer.pause), retries.longest));
            if (stop.isDone()) {
                return answer;
            }
            pause = shorter(pause.multipliedBy(2), retries.longest);
            counters.retried();
        }
    }

    private static Duration longer(Duration one, Duration other) {
        return other == null || one.compareTo(other) > 0 ? one : other;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    private void pause(Duration time) {
        try {
            stop.get(time.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // As intended.
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private void refuse(List<Entry> part, Answer answer, Deque<List<Entry>> parts) {
        List<Entry> left = new ArrayList<>();
        for (int i = 0; i < part.size(); i++) {
            String reason = answer.refused.get(i);
            // The service decides which actions look like its own. A table in the client could differ from the
            // service's.
            boolean isOfAction = reason != null && OF_ACTION.matcher(reason).find();
            Entry record =
                    reason == null ? part.get(i) : isOfAction ? part.get(i).renamed() : null;
            if (record == null) {
                refuse(part.get(i), reason);
            } else {
                left.add(record);
            }
        }
        if (!left.isEmpty()) {
            parts.push(left);
        }
    }

    private void split(List<Entry> part, String reason, Deque<List<Entry>> parts) {
        if (part.size() == 1) {
            refuse(part.get(0), reason);
        } else {
            parts.push(part.subList(part.size() / 2, part.size()));
            parts.push(part.subList(0, part.size() / 2));
        }
    }

    /** If this fails, the rest of the batch, including this record, is sent again. */
    private void refuse(Entry record, String reason) {
        Refusal refusal = record.refusal(reason);
        refusals.accept(refusal);
        counters.refused();
        record.acknowledgement.completeExceptionally(new RecordRefusedException(refusal));
    }
}
