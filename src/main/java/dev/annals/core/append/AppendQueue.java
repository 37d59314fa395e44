package dev.annals.core.append;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Bounded queues of requests, which are written in batches into one database. Every request gets exactly one outcome.
 *
 * <p>Requests gather while a batch of their project is in flight. A commit costs about the same for many projects as for one,
 * so a few writers share batches of many queues, the longest wait first. No timer runs.
 *
 * <pre>
 * a queue is    until                                        then
 * absent        a request arrives                            ready
 * ready         a writer is idle                             in a shared batch
 *               at once, if it is numbered or cools down     in its own batch
 *               at once, if its project has moved            in its own batch, written where the project is
 * in a shared   the batch is stored                          ready, or absent if no request waits
 * batch         it fails because of this queue               in its own batch
 *               it fails because of an unknown queue         in a batch of this queue alone, by a writer
 *               that fails, too                              in its own batch
 * in its own    every request has its outcome                ready, or absent if no request waits
 * batch
 * </pre>
 *
 * <p>An own batch may wait for a lock for long, on a connection that is not a writer's.
 */
final class AppendQueue {

    /** A queue with more records is written alone, so that few records do not wait for many. */
    static final int SHARED_RECORDS = 256;

    /**
     * Names one of a project's two queues. A sequence stays locked while a transaction that has drawn from it is open, and only
     * requests with numbers should wait for that.
     */
    record Key(UUID projectId, boolean numbered) {}

    /** Writes batches, at most one of a key at a time, and the requests of a series in their order. */
    interface Store {
        /**
         * Writes requests of one queue or several. Waits for no lock for long.
         *
         * @return a function that gives the requests their outcomes, once the next batch may start. Fails with {@link
         *     NotSharedException} if requests are left, and otherwise if none is stored
         */
        Uni<Runnable> writeShared(List<AppendRequest> requests);

        /**
         * Writes requests of one queue, for as long as that takes.
         *
         * @param failure of {@link #writeShared} with these requests alone; null if not known
         * @return as above. Requests that failed have their outcomes by then, and the others may
         */
        Uni<Runnable> writeOwn(List<AppendRequest> requests, @Nullable Throwable failure);

        /** Whether only {@link #writeOwn} can write requests of the project, because it has moved. */
        boolean hasLeft(UUID projectId);
    }

    static final class NotSharedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final transient Set<Key> left;

        /** It is not known which requests failed. They may have been stored, if the answer was lost. */
        NotSharedException(Throwable failure) {
            this(failure, Set.of());
        }

        /**
         * All other requests have their outcomes.
         *
         * @param failure null if the requests that are left have different ones
         */
        NotSharedException(@Nullable Throwable failure, Set<Key> left) {
            super(failure);
            this.left = left;
        }

        Set<Key> left() {
            return left;
        }
    }

    /** Limits the bytes that wait in the queues of all databases together. */
    static final class Room {
        private final long limit;
        private final boolean shared;
        private long taken;

        /** @param databases that share the room */
        Room(long limit, int databases) {
            this.limit = limit;
            this.shared = databases > 1;
        }

        /**
         * Takes room for a request. If databases share the room, each gets no more than it leaves free: if some of them do not answer, each
         * other one still gets as much room as one of those has.
         *
         * @param own bytes that wait for the database already
         */
        private synchronized boolean take(long own, long bytes) {
            if (taken > 0 && taken + bytes + (shared ? own + bytes : 0) > limit) {
                return false;
            }
            taken += bytes;
            return true;
        }

        private synchronized void give(long bytes) {
            taken -= bytes;
        }
    }

    private static final class Queue {
        final ArrayDeque<AppendRequest> waiting = new ArrayDeque<>();
        long bytes;
    }

    private static final class Batch {
        final List<AppendRequest> requests = new ArrayList<>();
        int records;
        long bytes;

        void add(AppendRequest request) {
            requests.add(request);
            records += request.records.size();
            bytes += request.bytes;
        }

        Map<Key, Batch> byQueue() {
            Map<Key, Batch> batches = new LinkedHashMap<>();
            for (AppendRequest request : requests) {
                batches.computeIfAbsent(request.key, key -> new Batch()).add(request);
            }
            return batches;
        }
    }

    private final Store store;
    private final AppendBounds bounds;
    private final Room room;

    // All that follows is guarded by this. Batches start outside of the lock: making their statements takes long.
    private final Map<Key, Queue> queues = new HashMap<>();
    private final ArrayDeque<Key> ready = new ArrayDeque<>();
    private final ArrayDeque<Key> readyForOwn = new ArrayDeque<>();
    private final ArrayDeque<Batch> toTryAlone = new ArrayDeque<>();

    private final Cooldowns cooldowns;
    private int idleWriters;
    private long totalBytes;
    private boolean stopping;

    /** @param writers the most shared batches in flight */
    AppendQueue(Store store, int writers, AppendBounds bounds, Room room, LongSupplier nanoTime) {
        this.store = store;
        this.bounds = bounds;
        this.room = room;
        this.cooldowns = new Cooldowns(nanoTime);
        this.idleWriters = writers;
    }

    /** Waiting, not in flight. */
    synchronized long bytes() {
        return totalBytes;
    }

    /** Counts a project's queue for records with numbers apart. */
    synchronized int size() {
        return queues.size();
    }

    /** The outcome never fails. A refused request fails its series, too. */
    CompletableFuture<AppendOutcome> append(AppendRequest request) {
        AppendOutcome refusal = enqueue(request);
        if (refusal == null) {
            startBatches();
        } else {
            request.fail(refusal);
        }
        return request.outcome;
    }

    /** Waiting requests are still written. */
    synchronized void stop() {
        stopping = true;
    }

    /** Null if the request is accepted. An empty queue accepts a request of any size. */
    private synchronized @Nullable AppendOutcome enqueue(AppendRequest request) {
        if (stopping) {
            return new AppendOutcome.Unavailable(
                    "The service is stopping. Send the request again to another instance.");
        }
        Queue queue = queues.get(request.key);
        if (queue != null
                && (queue.waiting.size() >= bounds.queueRequests()
                        || (!queue.waiting.isEmpty() && queue.bytes + request.bytes > bounds.queueBytes()))) {
            return new AppendOutcome.QueueFull("Too many records of this project are waiting to be written.");
        }
        if (!room.take(totalBytes, request.bytes)) {
            return new AppendOutcome.QueueFull("Too many records are waiting to be written.");
        }
        if (queue == null) {
            queue = new Queue();
            queues.put(request.key, queue);
            makeReady(request.key);
        }
        queue.waiting.add(request);
        queue.bytes += request.bytes;
        totalBytes += request.bytes;
        return null;
    }

    private void makeReady(Key key) {
        if (key.numbered() || cooldowns.contains(key) || store.hasLeft(key.projectId())) {
            readyForOwn.add(key);
        } else {
            ready.add(key);
        }
    }

    private void startBatches() {
        for (Batch own = nextOwnBatch(); own != null; own = nextOwnBatch()) {
            startOwn(own, null);
        }
        for (Batch shared = nextSharedBatch(); shared != null; shared = nextSharedBatch()) {
            startShared(shared);
        }
    }

    private synchronized @Nullable Batch nextOwnBatch() {
        Key key = readyForOwn.poll();
        if (key == null) {
            return null;
        }
        Batch batch = new Batch();
        take(key, batch, bounds.batchRecords());
        return batch;
    }

    private synchronized @Nullable Batch nextSharedBatch() {
        if (idleWriters == 0 || (toTryAlone.isEmpty() && ready.isEmpty())) {
            return null;
        }
        idleWriters--;
        if (!toTryAlone.isEmpty()) {
            return toTryAlone.remove();
        }
        Batch batch = new Batch();
        for (int taken = 0; taken < bounds.batchProjects() && !ready.isEmpty(); taken++) {
            int before = batch.records;
            take(ready.element(), batch, before == 0 ? bounds.batchRecords() : SHARED_RECORDS);
            if (batch.records == before) {
                // Its next request is too large for this batch.
                break;
            }
            ready.remove();
            if (batch.records - before > SHARED_RECORDS) {
                break;
            }
        }
        return batch;
    }

    /** Within the limits of the batch. An empty batch gets at least one request. */
    private void take(Key key, Batch batch, int maxRecords) {
        Queue queue = Objects.requireNonNull(queues.get(key));
        int most = Math.min(batch.records + maxRecords, bounds.batchRecords());
        for (AppendRequest next = queue.waiting.peek(); next != null; next = queue.waiting.peek()) {
            boolean fits =
                    batch.records + next.records.size() <= most && batch.bytes + next.bytes <= bounds.batchBytes();
            if (!fits && !batch.requests.isEmpty()) {
                return;
            }
            batch.add(queue.waiting.remove());
            queue.bytes -= next.bytes;
            totalBytes -= next.bytes;
            room.give(next.bytes);
        }
    }

    private void startShared(Batch batch) {
        Uni.createFrom()
                .deferred(() -> store.writeShared(batch.requests))
                .subscribe()
                .with(outcomes -> end(batch, 1, outcomes), failure -> {
                    if (failure instanceof NotSharedException notShared) {
                        split(batch, notShared);
                    } else {
                        fail(batch, 1, failure);
                    }
                });
    }

    private void startOwn(Batch batch, @Nullable Throwable cause) {
        Uni.createFrom()
                .deferred(() -> store.writeOwn(batch.requests, cause))
                .subscribe()
                .with(outcomes -> end(batch, 0, outcomes), failure -> fail(batch, 0, failure));
    }

    /** Tries each queue alone if it is not known which ones failed. */
    private void split(Batch batch, NotSharedException failure) {
        Map<Key, Batch> byQueue = batch.byQueue();
        Set<Key> left = byQueue.size() == 1 ? byQueue.keySet() : failure.left();
        List<Batch> own = new ArrayList<>();
        synchronized (this) {
            byQueue.forEach((key, some) -> {
                if (left.isEmpty()) {
                    toTryAlone.add(some);
                } else if (left.contains(key)) {
                    own.add(some);
                } else {
                    release(some);
                }
            });
            idleWriters++;
        }
        own.forEach(some -> startOwn(some, failure.getCause()));
        startBatches();
    }

    private void fail(Batch batch, int writers, Throwable failure) {
        // The next batch must not contain later requests of their series.
        AppendRequest.fail(batch.requests, new AppendOutcome.Failed(failure));
        end(batch, writers, () -> {});
    }

    /** The next batch starts before requests get their outcomes: making the answers takes about as long as a commit. */
    private void end(Batch batch, int writers, Runnable outcomes) {
        try {
            synchronized (this) {
                release(batch);
                idleWriters += writers;
            }
            startBatches();
        } finally {
            outcomes.run();
        }
    }

    private void release(Batch batch) {
        for (AppendRequest request : batch.requests) {
            if (request.hasSpoiledBatch()) {
                cooldowns.add(request.key);
            }
        }
        for (Key key : batch.byQueue().keySet()) {
            if (Objects.requireNonNull(queues.get(key)).waiting.isEmpty()) {
                queues.remove(key);
            } else {
                makeReady(key);
            }
        }
    }

    /**
     * Queues with a request that made a batch fail. They share no batch for a second, or for twice as long each time that this
     * happens again soon, up to a minute: they must cost other projects little.
     */
    static final class Cooldowns {

        private static final long FIRST_NANOS = Duration.ofSeconds(1).toNanos();
        private static final long LONGEST_NANOS = Duration.ofMinutes(1).toNanos();
        private static final int FORGET_FROM = 1_000;

        private final Map<Key, Cooldown> queues = new HashMap<>();
        private final LongSupplier nanoTime;

        Cooldowns(LongSupplier nanoTime) {
            this.nanoTime = nanoTime;
        }

        private record Cooldown(long end, long length) {

            boolean isOver(long now) {
                return now - end > 0;
            }

            /** Whether the next one is as short as the first. */
            boolean isForgotten(long now) {
                return now - end > length;
            }
        }

        void add(Key key) {
            long now = nanoTime.getAsLong();
            if (queues.size() > FORGET_FROM) {
                queues.values().removeIf(cooldown -> cooldown.isForgotten(now));
            }
            queues.compute(key, (same, last) -> {
                if (last == null || last.isForgotten(now)) {
                    return new Cooldown(now + FIRST_NANOS, FIRST_NANOS);
                }
                long length = last.isOver(now) ? Math.min(2 * last.length, LONGEST_NANOS) : last.length;
                return new Cooldown(now + length, length);
            });
        }

        boolean contains(Key key) {
            Cooldown cooldown = queues.get(key);
            return cooldown != null && !cooldown.isOver(nanoTime.getAsLong());
        }
    }
}
