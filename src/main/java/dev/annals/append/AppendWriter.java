package dev.annals.append;

import dev.annals.database.DatabaseFailure;
import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.live.HeadWatch;
import dev.annals.project.Caller;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordRow;
import dev.annals.record.StoredRecord;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jboss.logging.Logger;

/**
 * Turns many concurrent requests into few commits.
 *
 * <p>In one project each commit waits for the one before it. So while one commit of a project is under way, what arrives
 * for it gathers here, and the next commit takes it all: no timer, and no wait where there is no load. Every request is
 * answered after its commit, or with its own error: a record that the database refuses fails its own request alone.
 *
 * <p>Records that want numbers go their own way, {@link Lane}, so that the others never wait for a sequence.
 *
 * <p>Queues are bounded; a request that finds its queue full is turned away at once. A project without waiting requests
 * has no queue.
 */
@ApplicationScoped
public class AppendWriter {

    private static final Logger LOG = Logger.getLogger(AppendWriter.class);
    private static final String READ_PLACES = Sql.named("read_places");
    private static final String READ_RECORDS = Sql.named("read_records");
    private static final String READ_VALUES_LEFT = Sql.named("read_values_left");

    private final Map<Lane, ProjectQueue> queues = new ConcurrentHashMap<>();
    private final AtomicLong totalBytes = new AtomicLong();
    private final Pool pool;
    private final SequentialGuid guids;
    private final HeadWatch heads;
    private final AppendConfig config;
    private volatile boolean stopping;

    AppendWriter(Pool pool, SequentialGuid guids, HeadWatch heads, AppendConfig config, MeterRegistry metrics) {
        this.pool = pool;
        this.guids = guids;
        this.heads = heads;
        this.config = config;
        metrics.gauge("annals.append.queue.bytes", totalBytes);
        metrics.gaugeMapSize("annals.append.queue.projects", List.of(), queues);
    }

    /**
     * What a queue is for: the requests of a project that hold a record with a number, or its other requests. A sequence
     * stays locked while anybody's transaction that has drawn from it is open; only the former wait for that.
     */
    private record Lane(UUID projectId, boolean numbered) {}

    /** The requests of one project that wait while a commit of it is under way. */
    private static final class ProjectQueue {
        final ArrayDeque<AppendRequest> waiting = new ArrayDeque<>();
        long bytes;
    }

    /**
     * Appends records to a project: all of them or none.
     *
     * @param caller whose token names the project, and is what the records are recorded by
     * @param records one or more, each with an id of its own
     * @param inBatch whether they came as a batch, and not as one bare record
     * @param bytes about how much memory they take
     * @return what is stored, after its commit. Fails with a problem: {@code queue-full}, {@code record-id-taken} where
     *     an id belongs to a record with other content, {@code invalid-record} where the database refuses a value or a
     *     sequence has no number for a record, {@code unavailable} where the database cannot be reached
     */
    public Uni<Appended> append(Caller caller, List<AuditRecord> records, boolean inBatch, long bytes) {
        return Uni.createFrom()
                .deferred(() -> Uni.createFrom()
                        .completionStage(append(
                                caller.projectId(),
                                new AppendRequest(records, inBatch, caller.tokenId(), bytes, new Chain()))));
    }

    /** The same for a request of a chain; what is turned away breaks the chain, too. */
    CompletableFuture<Appended> append(UUID projectId, AppendRequest request) {
        Lane lane = new Lane(projectId, request.numbered);
        try {
            if (stopping) {
                throw new ProblemException(
                        ProblemType.UNAVAILABLE,
                        "The service is stopping. Send the request again to another instance.");
            }
            if (offer(lane, request)) {
                write(lane, List.of(request));
            }
        } catch (RuntimeException e) {
            request.fail(e);
        }
        return request.answer;
    }

    /** @return true where no commit of the project is under way, so that the caller must begin one with its request */
    private boolean offer(Lane lane, AppendRequest request) {
        boolean[] first = {false};
        queues.compute(lane, (same, queue) -> {
            if (queue == null) {
                first[0] = true;
                return new ProjectQueue();
            }
            if (queue.waiting.size() >= config.queueRequests() || queue.bytes + request.bytes > config.queueBytes()) {
                throw new ProblemException(
                        ProblemType.QUEUE_FULL, "Too many records of this project are waiting to be written.");
            }
            if (totalBytes.addAndGet(request.bytes) > config.totalQueueBytes()) {
                totalBytes.addAndGet(-request.bytes);
                throw new ProblemException(ProblemType.QUEUE_FULL, "Too many records are waiting to be written.");
            }
            queue.waiting.add(request);
            queue.bytes += request.bytes;
            return queue;
        });
        return first[0];
    }

    /** Takes what has gathered, as much as one transaction may have; drops the queue where nothing has. */
    private List<AppendRequest> take(Lane lane) {
        List<AppendRequest> taken = new ArrayList<>();
        queues.computeIfPresent(lane, (same, queue) -> {
            int records = 0;
            long bytes = 0;
            for (AppendRequest next = queue.waiting.peek(); next != null; next = queue.waiting.peek()) {
                records += next.records.size();
                bytes += next.bytes;
                if (!taken.isEmpty() && (records > config.batchRecords() || bytes > config.batchBytes())) {
                    break;
                }
                taken.add(queue.waiting.remove());
                queue.bytes -= next.bytes;
                totalBytes.addAndGet(-next.bytes);
            }
            return taken.isEmpty() ? null : queue;
        });
        return taken;
    }

    /** Writes the requests, then whatever has gathered meanwhile, until nothing has. */
    private void write(Lane lane, List<AppendRequest> requests) {
        writeTogether(lane.projectId(), requests, 0)
                .onFailure()
                .recoverWithItem(failure -> {
                    // At once: what hangs on these requests must not be in the next commit.
                    requests.forEach(request -> request.fail(failure));
                    return () -> {};
                })
                .subscribe()
                .with(answers -> {
                    // The next commit is under way before those are answered whose records are stored: making the
                    // answers takes about as long.
                    try {
                        List<AppendRequest> gathered = take(lane);
                        if (!gathered.isEmpty()) {
                            write(lane, gathered);
                        }
                    } finally {
                        answers.run();
                    }
                });
    }

    /**
     * Writes those of the requests that are not answered yet in one transaction. Where that fails for one of them, finds
     * out which.
     *
     * @return the answers that are still to be given
     */
    private Uni<Runnable> writeTogether(UUID projectId, List<AppendRequest> together, int attempt) {
        List<AppendRequest> requests = AppendRequest.open(together);
        List<AuditRecord> records = new ArrayList<>();
        List<UUID> tokenIds = new ArrayList<>();
        for (AppendRequest request : requests) {
            records.addAll(request.missing());
            tokenIds.addAll(Collections.nCopies(records.size() - tokenIds.size(), request.tokenId));
        }
        if (records.isEmpty()) {
            return answered();
        }
        return store(projectId, records, tokenIds)
                .<Runnable>map(stored -> () -> {
                    AppendRequest.succeed(requests, stored);
                    heads.appended(projectId, stored.get(stored.size() - 1).sequenceId());
                })
                .onFailure()
                .recoverWithUni(failure -> afterFailure(projectId, requests, attempt, failure));
    }

    /** What is left to answer where all requests have been. */
    private static Uni<Runnable> answered() {
        return Uni.createFrom().<Runnable>item(() -> () -> {});
    }

    private Uni<Runnable> afterFailure(UUID projectId, List<AppendRequest> requests, int attempt, Throwable failure) {
        return switch (AppendFailure.of(failure)) {
            case GIVE_WAY -> {
                // The connection may have broken during COMMIT, so the batch may be stored. It is sent again under the
                // same ids: where it is there already, that shows as TAKEN.
                if (attempt >= config.retries()) {
                    LOG.warnf(failure, "Gave up on %d requests of project %s", requests.size(), projectId);
                    yield Uni.createFrom().failure(AppendFailure.asProblem(failure));
                }
                yield Uni.createFrom()
                        .voidItem()
                        .onItem()
                        .delayIt()
                        .by(DatabaseFailure.backOff(config.retryDelay(), config.maxRetryDelay(), attempt))
                        .chain(() -> writeTogether(projectId, requests, attempt + 1));
            }
            case TAKEN -> writeWithoutStored(projectId, requests, attempt);
            case NO_NUMBER -> writeWithoutUnnumbered(projectId, requests, attempt);
            case REFUSED ->
                requests.size() > 1
                        ? writeAlone(projectId, requests)
                        : Uni.createFrom().failure(AppendFailure.asProblem(failure));
            case BROKEN -> Uni.createFrom().failure(failure);
        };
    }

    /** Some ids exist: answers the requests whose records are stored or whose ids are taken, and writes the others. */
    private Uni<Runnable> writeWithoutStored(UUID projectId, List<AppendRequest> requests, int attempt) {
        return readStored(projectId, requests).chain(stored -> {
            boolean progress = false;
            for (AppendRequest request : requests) {
                progress |= !request.isOpen() || request.compareWith(stored, guids, config.retries());
            }
            List<AppendRequest> others = AppendRequest.open(requests);
            if (others.isEmpty()) {
                return answered();
            }
            if (!progress && others.size() > 1) {
                // Two requests of this batch share an id: the first of them wins.
                return writeAlone(projectId, others);
            }
            if (!progress && attempt >= config.retries()) {
                return Uni.createFrom()
                        .failure(new ProblemException(
                                ProblemType.UNAVAILABLE, "Another writer holds one of these ids. Try again."));
            }
            return writeTogether(projectId, others, progress ? attempt : attempt + 1);
        });
    }

    /** Some records cannot have the numbers they want: answers their requests, and writes the others. */
    private Uni<Runnable> writeWithoutUnnumbered(UUID projectId, List<AppendRequest> requests, int attempt) {
        return readValuesLeft(projectId, requests).chain(left -> {
            for (AppendRequest request : requests) {
                if (request.isOpen()) {
                    request.refuseNumbers(left);
                }
            }
            List<AppendRequest> others = AppendRequest.open(requests);
            if (others.isEmpty()) {
                return answered();
            }
            boolean progress = others.size() < requests.size();
            if (!progress && attempt >= config.retries()) {
                return Uni.createFrom()
                        .failure(new ProblemException(
                                ProblemType.UNAVAILABLE, "Other writers took the numbers. Try again."));
            }
            return writeTogether(projectId, others, progress ? attempt : attempt + 1);
        });
    }

    private Uni<ValuesLeft> readValuesLeft(UUID projectId, List<AppendRequest> requests) {
        Set<String> names = new HashSet<>();
        for (AppendRequest request : requests) {
            for (AuditRecord record : request.missing()) {
                String name = record.numberSequence();
                if (name != null) {
                    names.add(name);
                }
            }
        }
        return DatabaseFailure.retried(pool.preparedQuery(READ_VALUES_LEFT)
                .execute(Tuple.of(projectId, names.toArray(String[]::new)))
                .map(ValuesLeft::new));
    }

    /** Each request in a transaction of its own, so that one which the database refuses fails alone. */
    private Uni<Runnable> writeAlone(UUID projectId, List<AppendRequest> requests) {
        return Multi.createFrom()
                .iterable(requests)
                .onItem()
                .transformToUniAndConcatenate(request -> writeTogether(projectId, List.of(request), 0)
                        .invoke(Runnable::run)
                        .onFailure()
                        .invoke(request::fail)
                        .onFailure()
                        .recoverWithNull())
                .collect()
                .last()
                .chain(AppendWriter::answered);
    }

    /** One transaction, and behind it, in the same round trip, the question where its records stand. */
    private Uni<List<StoredRecord>> store(UUID projectId, List<AuditRecord> records, List<UUID> tokenIds) {
        AppendBatch batch = new AppendBatch(projectId, records, tokenIds, guids);
        return pool.withConnection(connection -> Uni.combine()
                .all()
                .unis(insert(connection, batch), readPlaces(connection, batch))
                .usingConcurrencyOf(2)
                .with((inserted, places) -> batch.stored(places, inserted)));
    }

    private static Uni<Row> insert(SqlConnection connection, AppendBatch batch) {
        return connection
                .preparedQuery(batch.statement())
                .execute(batch.binds())
                .map(rows -> rows.iterator().next());
    }

    private static Uni<Map<UUID, Long>> readPlaces(SqlConnection connection, AppendBatch batch) {
        return connection
                .preparedQuery(READ_PLACES)
                .execute(batch.placesTuple())
                .map(rows -> {
                    Map<UUID, Long> places = new HashMap<>();
                    for (Row row : rows) {
                        places.put(row.getUUID(0), row.getLong(1));
                    }
                    return places;
                });
    }

    /**
     * What is stored under the ids of requests. Of a record with other content than all that were sent, only its id is kept:
     * it may be a thousand times as large.
     */
    private Uni<Map<UUID, StoredRecord>> readStored(UUID projectId, List<AppendRequest> requests) {
        Map<UUID, List<AuditRecord>> sent = new HashMap<>();
        for (AppendRequest request : requests) {
            for (AuditRecord record : request.missing()) {
                sent.computeIfAbsent(record.id(), id -> new ArrayList<>()).add(record);
            }
        }
        return DatabaseFailure.retried(pool.preparedQuery(READ_RECORDS)
                .mapping(row -> {
                    StoredRecord stored = RecordRow.record(row);
                    return sent.getOrDefault(RecordRow.recordId(row), List.of()).stream()
                                    .anyMatch(record -> record.sameContentAs(stored.record()))
                            ? stored
                            : stored.withoutContent();
                })
                .execute(Tuple.of(projectId, sent.keySet().toArray(UUID[]::new)))
                .map(rows -> {
                    Map<UUID, StoredRecord> stored = new HashMap<>();
                    for (StoredRecord record : rows) {
                        stored.put(record.record().id(), record);
                    }
                    return stored;
                }));
    }

    /** Turns new requests away. Those that wait are still written and answered, before the pool closes. */
    void stop(@Observes ShutdownEvent event) {
        stopping = true;
    }
}
