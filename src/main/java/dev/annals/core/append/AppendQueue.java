package dev.annals.core.append;

import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Turns many concurrent requests into few flushes.
 *
 * <p>In one project each commit waits for the one before it. So while a flush of a lane is in flight, new requests for that
 * lane gather here, and the next flush takes them all. A commit costs about the same however many projects it is for. So a
 * few writers share the work: each takes what has gathered in lanes that are not in flight, the lane that has waited longest
 * first. There is no timer, and without load nothing waits. Every request gets exactly one outcome.
 *
 * <p>A lane whose records want numbers is flushed alone and not by a writer, because it may wait for a sequence for as long as
 * somebody keeps it locked. If a flush of several lanes fails because of some, these are flushed in this way, too; if it is
 * not known which, writers try each lane alone.
 *
 * <p>Queues are bounded; a request that finds its queue full is turned away at once. A lane that has neither waiting requests
 * nor a flush in flight has no queue.
 */
final class AppendQueue {

    /**
     * How many records of one lane go together with those of others. A lane with more is flushed alone, so that few records
     * need not wait for many.
     */
    static final int SHARED_RECORDS = 256;

    /**
     * The requests that share a queue: those of a project that contain a record with a number, or all others of the project. A
     * sequence stays locked while any transaction that has drawn from it is open, and only the former should wait for that.
     */
    record Key(UUID projectId, boolean numbered) {}

    /** Writes requests. No other flush of their lanes is in flight. */
    interface Flush {
        /**
         * Writes requests of one lane or several, those of one series in their order. It must not wait for anything that one of
         * them alone may have to wait for.
         *
         * @return completes when the next flush of these lanes may begin, with what remains to be done to give the requests
         *     their outcomes. If it fails with {@link NotSharedException}, each lane is tried alone, and if that fails, too,
         *     flushed by {@link #writeOwn}, unless the exception names the lanes to be flushed by it; if it fails otherwise,
         *     so do all requests without an outcome
         */
        Uni<Runnable> writeShared(List<AppendRequest> requests);

        /** Whether requests of this lane are not to be written together with others for now. */
        boolean isApart(Key lane);

        /**
         * Writes requests of one lane, those of one series in their order, for as long as that takes.
         *
         * @param failure why {@link #writeShared} failed with these requests; null if it was not tried
         * @return as described above. Requests that failed have their outcomes by then, and the others may
         */
        Uni<Runnable> writeOwn(List<AppendRequest> requests, @Nullable Throwable failure);
    }

    /** Requests cannot be written together. They may have been, if the answer was lost. */
    static final class NotSharedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final transient Set<Key> lanes;

        NotSharedException(Throwable cause) {
            this(cause, Set.of());
        }

        /**
         * @param lanes the lanes that have to be written apart, the requests of all others having their outcomes; none if it
         *     is not known which
         */
        NotSharedException(Throwable cause, Set<Key> lanes) {
            super(cause);
            this.lanes = lanes;
        }

        Set<Key> lanes() {
            return lanes;
        }
    }

    private final Map<Key, Queue> queues = new ConcurrentHashMap<>();
    /** Lanes with waiting requests and no flush in flight, each once. */
    private final ConcurrentLinkedDeque<Key> ready = new ConcurrentLinkedDeque<>();

    /** The requests of flushes of several lanes that failed, lane by lane. Their lanes are still in flight. */
    private final ConcurrentLinkedDeque<List<AppendRequest>> split = new ConcurrentLinkedDeque<>();

    private final Semaphore writers;
    private final AtomicLong totalBytes = new AtomicLong();
    private final Flush flush;
    private final AppendConfig config;
    private final AppendBounds bounds;
    private volatile boolean stopping;

    AppendQueue(Flush flush, AppendConfig config, AppendBounds bounds, MeterRegistry metrics) {
        this.flush = flush;
        this.config = config;
        this.bounds = bounds;
        this.writers = new Semaphore(config.writers());
        metrics.gauge("annals.append.queue.bytes", totalBytes);
        metrics.gaugeMapSize("annals.append.queue.projects", List.of(), queues);
    }

    /** The waiting requests of one lane. */
    private static final class Queue {
        final ArrayDeque<AppendRequest> waiting = new ArrayDeque<>();
        long bytes;
    }

    /**
     * Takes a request.
     *
     * @return its outcome, which never fails. A request that is turned away breaks its series, too
     */
    CompletableFuture<AppendOutcome> append(AppendRequest request) {
        if (stopping) {
            request.fail(new AppendOutcome.Unavailable(
                    "The service is stopping. Send the request again to another instance."));
            return request.outcome;
        }
        boolean[] first = {false};
        @Nullable String[] full = {null};
        queues.compute(request.key, (lane, there) -> {
            Queue queue = there == null ? new Queue() : there;
            full[0] = enqueue(queue, request);
            first[0] = there == null && full[0] == null;
            return there == null && full[0] != null ? null : queue;
        });
        if (full[0] != null) {
            request.fail(new AppendOutcome.QueueFull(full[0]));
        } else if (first[0]) {
            isReady(request.key);
            writeReady();
        }
        return request.outcome;
    }

    /** Adds a request to a queue; returns why that is not possible, or null. An empty queue takes a request of any size. */
    private @Nullable String enqueue(Queue queue, AppendRequest request) {
        if (queue.waiting.size() >= bounds.queueRequests()
                || (!queue.waiting.isEmpty() && queue.bytes + request.bytes > bounds.queueBytes())) {
            return "Too many records of this project are waiting to be written.";
        }
        long total = totalBytes.addAndGet(request.bytes);
        if (total > config.totalQueueBytes() && total > request.bytes) {
            totalBytes.addAndGet(-request.bytes);
            return "Too many records are waiting to be written.";
        }
        queue.waiting.add(request);
        queue.bytes += request.bytes;
        return null;
    }

    /** Lets a lane be flushed, by the next writer or at once, that has waiting requests and no flush in flight. */
    private void isReady(Key lane) {
        if (lane.numbered() || flush.isApart(lane)) {
            List<AppendRequest> requests = new ArrayList<>();
            take(lane, requests, bounds.batchRecords());
            writeOwn(lane, requests, null);
        } else {
            ready.add(lane);
        }
    }

    /** Starts as many writers as there are and as have something to do. */
    private void writeReady() {
        // Whoever adds a lane or gives a writer back comes here afterwards, and so sees what the other one did.
        while ((!split.isEmpty() || !ready.isEmpty()) && writers.tryAcquire()) {
            List<AppendRequest> left = split.poll();
            List<AppendRequest> requests = left == null ? takeReady() : left;
            if (requests.isEmpty()) {
                writers.release();
            } else {
                writeShared(requests);
            }
        }
    }

    /** Takes what has gathered, lane by lane, up to the limits of one flush. */
    private List<AppendRequest> takeReady() {
        List<AppendRequest> taken = new ArrayList<>();
        for (int lanes = 0; lanes < bounds.batchProjects(); lanes++) {
            Key lane = ready.poll();
            if (lane == null) {
                break;
            }
            int before = taken.size();
            take(lane, taken, before == 0 ? bounds.batchRecords() : SHARED_RECORDS);
            if (taken.size() == before) {
                // Its next request is too large for this flush, and goes into the next one.
                ready.addFirst(lane);
                break;
            }
            if (records(taken, before) > SHARED_RECORDS) {
                break;
            }
        }
        return taken;
    }

    private static int records(List<AppendRequest> requests, int from) {
        int records = 0;
        for (AppendRequest request : requests.subList(from, requests.size())) {
            records += request.records.size();
        }
        return records;
    }

    /**
     * Takes requests of one lane, within the limits of one flush, to those that are taken. A flush has one request at least.
     *
     * @param maxRecords how many records of this lane
     */
    private void take(Key lane, List<AppendRequest> taken, int maxRecords) {
        queues.computeIfPresent(lane, (same, queue) -> {
            int left = Math.min(maxRecords, bounds.batchRecords() - records(taken, 0));
            long bytesLeft = bounds.batchBytes();
            for (AppendRequest other : taken) {
                bytesLeft -= other.bytes;
            }
            for (AppendRequest next = queue.waiting.peek(); next != null; next = queue.waiting.peek()) {
                left -= next.records.size();
                bytesLeft -= next.bytes;
                if (!taken.isEmpty() && (left < 0 || bytesLeft < 0)) {
                    break;
                }
                taken.add(queue.waiting.remove());
                queue.bytes -= next.bytes;
                totalBytes.addAndGet(-next.bytes);
            }
            return queue;
        });
    }

    /** Writes requests of one lane or several, for a writer. */
    private void writeShared(List<AppendRequest> requests) {
        Map<Key, List<AppendRequest>> byLane = new LinkedHashMap<>();
        for (AppendRequest request : requests) {
            byLane.computeIfAbsent(request.key, lane -> new ArrayList<>()).add(request);
        }
        Uni.createFrom()
                .deferred(() -> flush.writeShared(requests))
                .subscribe()
                .with(outcomes -> end(List.copyOf(byLane.keySet()), true, outcomes), failure -> {
                    if (failure instanceof NotSharedException apart) {
                        writeOwn(byLane, apart);
                    } else {
                        // At once, because the next flush must not contain requests that depend on these.
                        AppendRequest.fail(requests, new AppendOutcome.Failed(failure));
                        end(List.copyOf(byLane.keySet()), true, () -> {});
                    }
                });
    }

    /** Writes the lanes apart that are named or the only one; if it is not known which, has all of them tried alone. */
    private void writeOwn(Map<Key, List<AppendRequest>> byLane, NotSharedException failure) {
        Set<Key> apart = byLane.size() > 1 ? failure.lanes() : Set.copyOf(byLane.keySet());
        List<Key> done = new ArrayList<>();
        byLane.forEach((lane, requests) -> {
            if (apart.contains(lane)) {
                writeOwn(lane, requests, failure.getCause());
            } else if (apart.isEmpty()) {
                split.add(requests);
            } else {
                done.add(lane);
            }
        });
        end(done, true, () -> {});
    }

    /** Writes requests of one lane, whatever the writers do. */
    private void writeOwn(Key lane, List<AppendRequest> requests, @Nullable Throwable cause) {
        Uni.createFrom()
                .deferred(() -> flush.writeOwn(requests, cause))
                .subscribe()
                .with(outcomes -> end(List.of(lane), false, outcomes), failure -> {
                    AppendRequest.fail(requests, new AppendOutcome.Failed(failure));
                    end(List.of(lane), false, () -> {});
                });
    }

    /**
     * Ends a flush. The next one starts before the stored requests get their outcomes, because making the answers takes about
     * as long as a flush.
     */
    private void end(List<Key> lanes, boolean byWriter, Runnable outcomes) {
        try {
            List<Key> next = new ArrayList<>();
            for (Key lane : lanes) {
                Queue queue = queues.computeIfPresent(lane, (same, there) -> there.waiting.isEmpty() ? null : there);
                if (queue != null) {
                    next.add(lane);
                }
            }
            next.forEach(this::isReady);
            if (byWriter) {
                writers.release();
            }
            writeReady();
        } finally {
            outcomes.run();
        }
    }

    /** Turns new requests away. Waiting requests are still written. */
    void stop() {
        stopping = true;
    }
}
