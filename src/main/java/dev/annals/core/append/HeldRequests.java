package dev.annals.core.append;

import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Requests with an id that a transaction has inserted which is still open, such as one of plain SQL. Each waits here, out of
 * its project's order, and the others of its project go on.
 *
 * <p>Nobody sees such a record, so only an insert finds out whether it is there. That is tried again and again, with growing
 * pauses, for all requests of a lane together, and taken back at once: those that wait hold neither a connection nor a
 * transaction. A few connections serve all of them. A request that has waited long enough is given up.
 */
final class HeldRequests {

    /** How many connections all requests that wait have together. */
    static final int CONNECTIONS = 2;

    private static final Sql FIND_HELD_IDS = Sql.named("core/append/find_held_ids");
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(500);

    private final Map<AppendQueue.Key, List<Held>> lanes = new HashMap<>();
    private final AtomicInteger size = new AtomicInteger();
    private final Supplier<Pool> pool;
    private final Consumer<List<AppendRequest>> released;
    private final AppendBounds bounds;

    /** A request and its ids, first of all the one that was found to be held. */
    private static final class Held {
        final AppendRequest request;
        List<UUID> ids;

        Held(AppendRequest request) {
            this.request = request;
            this.ids = request.missing().stream().map(AuditRecord::id).toList();
        }

        /** Whether one of the ids is among these; it is the first to be tried the next time. */
        boolean isStillHeld(Set<UUID> heldIds) {
            for (UUID id : ids) {
                if (heldIds.contains(id)) {
                    List<UUID> next = new ArrayList<>(ids);
                    next.remove(id);
                    next.add(0, id);
                    ids = next;
                    return true;
                }
            }
            return false;
        }
    }

    /**
     * @param pool the connections that look whether ids are still held
     * @param released takes requests of one lane, in the order in which they came, that are to be written now
     */
    HeldRequests(
            Supplier<Pool> pool, Consumer<List<AppendRequest>> released, AppendBounds bounds, MeterRegistry metrics) {
        this.pool = pool;
        this.released = released;
        this.bounds = bounds;
        metrics.gauge("annals.append.held.requests", size);
    }

    /** Keeps a request until its ids are free or taken. If too many of its project wait, the request fails at once. */
    synchronized void add(AppendRequest request) {
        // A lane stays in the map for as long as somebody looks again.
        boolean first = !lanes.containsKey(request.key);
        List<Held> others = lanes.computeIfAbsent(request.key, lane -> new ArrayList<>());
        if (others.size() >= bounds.heldRequests()) {
            request.fail(
                    new AppendOutcome.Unavailable("Transactions that are still open hold the ids of too many records"
                            + " of this project, so nothing was stored. Send the request again."));
            return;
        }
        request.hold(bounds.heldWait());
        others.add(new Held(request));
        size.incrementAndGet();
        if (first) {
            lookAgain(request.key, 0);
        }
    }

    /** Adds those of these requests, all of one lane, that have an id which is held. Never fails. */
    Uni<Void> addHeldOf(List<AppendRequest> requests) {
        List<Held> maybe = requests.stream().map(Held::new).toList();
        return findHeldIds(requests.get(0).key, maybe)
                .invoke(ids -> {
                    for (Held candidate : maybe) {
                        if (candidate.isStillHeld(ids)) {
                            add(candidate.request);
                        }
                    }
                })
                .onFailure()
                .recoverWithNull()
                .replaceWithVoid();
    }

    private void lookAgain(AppendQueue.Key lane, int tries) {
        Uni.createFrom()
                .voidItem()
                .onItem()
                .delayIt()
                .by(DatabaseFailure.backOff(bounds.retryDelay(), LONGEST_PAUSE, tries))
                .map(now -> giveUpOverdue(lane))
                .chain(waiting -> findHeldIds(lane, waiting).invoke(ids -> release(lane, waiting, ids)))
                .onItemOrFailure()
                .transform((released, failure) -> anyWaits(lane))
                .subscribe()
                .with(any -> {
                    if (any) {
                        lookAgain(lane, tries + 1);
                    }
                });
    }

    /** Gives up the requests that have waited long enough; returns the others. */
    private List<Held> giveUpOverdue(AppendQueue.Key lane) {
        List<Held> waiting;
        synchronized (this) {
            waiting = List.copyOf(lanes.getOrDefault(lane, List.of()));
        }
        List<Held> overdue =
                waiting.stream().filter(held -> held.request.isOverdue()).toList();
        remove(lane, overdue);
        for (Held held : overdue) {
            held.request.fail(new AppendOutcome.Unavailable(
                    "A transaction that is still open holds the id of a record, so nothing"
                            + " was stored. Send the request again."));
        }
        return waiting.stream().filter(held -> !overdue.contains(held)).toList();
    }

    /** Which ids are still held: one of each request that has any. */
    private Uni<Set<UUID>> findHeldIds(AppendQueue.Key lane, List<Held> waiting) {
        List<Integer> requests = new ArrayList<>();
        List<UUID> ids = new ArrayList<>();
        for (int i = 0; i < waiting.size(); i++) {
            requests.addAll(Collections.nCopies(waiting.get(i).ids.size(), i + 1));
            ids.addAll(waiting.get(i).ids);
        }
        return FIND_HELD_IDS
                .bind("project_id", lane.projectId())
                .bind("request", requests.toArray(Integer[]::new))
                .bind("id", ids.toArray(UUID[]::new))
                .execute(pool.get())
                .map(rows -> Set.copyOf(Arrays.asList(rows.iterator().next().getArrayOfUUIDs("held"))));
    }

    private void release(AppendQueue.Key lane, List<Held> waiting, Set<UUID> heldIds) {
        List<Held> free = new ArrayList<>();
        for (Held held : waiting) {
            if (!held.isStillHeld(heldIds)) {
                free.add(held);
            }
        }
        remove(lane, free);
        if (!free.isEmpty()) {
            List<AppendRequest> requests =
                    free.stream().map(held -> held.request).toList();
            requests.forEach(AppendRequest::release);
            released.accept(requests);
        }
    }

    private synchronized void remove(AppendQueue.Key lane, List<Held> gone) {
        List<Held> waiting = lanes.get(lane);
        if (waiting != null) {
            waiting.removeAll(gone);
            size.addAndGet(-gone.size());
        }
    }

    /** Whether there is anything to look for; if not, the next request that is added starts it again. */
    private synchronized boolean anyWaits(AppendQueue.Key lane) {
        return lanes.computeIfPresent(lane, (same, waiting) -> waiting.isEmpty() ? null : waiting) != null;
    }
}
