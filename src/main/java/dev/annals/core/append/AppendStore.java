package dev.annals.core.append;

import dev.annals.core.feed.HeadWatch;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordRow;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.DatabaseUnavailableException;
import dev.annals.kernel.database.ServicePool;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Writes requests into the database, many in one transaction. A record that the database refuses fails only its own request,
 * transient failures are retried, and what is already stored is not stored twice.
 */
@ApplicationScoped
class AppendStore implements AppendQueue.Flush {

    private static final Logger LOG = Logger.getLogger(AppendStore.class);
    private static final Sql READ_RECORDS = Sql.named("core/feed/read_records");
    private static final Sql FIND_HELD_IDS = Sql.named("core/append/find_held_ids");
    private static final Sql READ_VALUES_LEFT = Sql.named("core/append/read_values_left");

    private static final AppendOutcome ID_HELD = new AppendOutcome.Unavailable(
            "A transaction that is still open holds the id of a record. Send the request again with the same ids.");

    private final Pool pool;
    private final SequentialGuid guids;
    private final HeadWatch heads;
    private final AppendConfig config;
    private final AppendBounds bounds;
    private final ServicePool pools;
    private final Duration lockTimeout;
    private final Suspects suspects = new Suspects(System::nanoTime);
    private @Nullable Pool writers;

    AppendStore(
            Pool pool,
            ServicePool pools,
            SequentialGuid guids,
            HeadWatch heads,
            AppendConfig config,
            AppendBounds bounds,
            AnnalsConfig annals) {
        this.pool = pool;
        this.pools = pools;
        this.guids = guids;
        this.heads = heads;
        this.config = config;
        this.bounds = bounds;
        this.lockTimeout = annals.database().lockTimeout();
    }

    /**
     * Writes requests together, in one transaction. If one of them cannot be stored, writes them together once more, each
     * in a subtransaction, and so finds out which.
     *
     * @param requests those of one project stand together
     * @return gives the requests their outcomes. Fails with {@link AppendQueue.NotSharedException} alone, if anything
     *     stands in the way of one of them: a lock that is held for longer than {@link AppendConfig#lockTimeout}, a record
     *     that is stored or refused, or the database is away
     */
    @Override
    public Uni<Runnable> writeShared(List<AppendRequest> requests) {
        return Uni.createFrom()
                .deferred(() -> {
                    List<AppendRequest> open = AppendRequest.open(requests);
                    return open.isEmpty()
                            ? ended()
                            : store(writers(), open, bounds.lockTimeout())
                                    .onFailure(
                                            failure -> AppendFailure.of(failure).isOfSingleRequests())
                                    .recoverWithUni(failure -> storeWhatCanBe(open, failure));
                })
                .onFailure(failure -> !(failure instanceof AppendQueue.NotSharedException))
                .transform(AppendQueue.NotSharedException::new);
    }

    private Uni<Runnable> storeWhatCanBe(List<AppendRequest> requests, Throwable failure) {
        if (requests.size() == 1) {
            AppendQueue.Key lane = requests.get(0).key;
            suspects.add(lane);
            return Uni.createFrom().failure(new AppendQueue.NotSharedException(failure, Set.of(lane)));
        }
        return storeEach(writers(), requests).chain(duplicates -> {
            Set<AppendQueue.Key> left = AppendRequest.open(requests).stream()
                    .map(request -> request.key)
                    .collect(Collectors.toSet());
            return left.isEmpty()
                    ? ended()
                    : Uni.createFrom().failure(new AppendQueue.NotSharedException(failure, left));
        });
    }

    @Override
    public boolean isApart(AppendQueue.Key lane) {
        return suspects.contains(lane);
    }

    /**
     * Writes requests of one project. Either all of them want numbers, or none does. A record that the database refuses fails
     * only its own request, transient failures are retried, and what is already stored is not stored twice.
     *
     * @return as described at {@link AppendQueue.Flush}; never fails
     */
    @Override
    public Uni<Runnable> writeOwn(List<AppendRequest> requests, @Nullable Throwable failure) {
        return Uni.createFrom()
                .deferred(() -> {
                    UUID projectId = requests.get(0).key.projectId();
                    List<AppendRequest> open = AppendRequest.open(requests);
                    @Nullable AppendFailure kind = failure == null ? null : AppendFailure.of(failure);
                    // Of one request it is known what is wrong with it, unless that was wrong with another one.
                    boolean known = kind == AppendFailure.RETRYABLE
                            || (open.size() == 1 && (kind == AppendFailure.DUPLICATE || kind == AppendFailure.HELD));
                    return failure != null && known
                            ? afterFailure(projectId, open, 0, failure)
                            : write(projectId, open, 0);
                })
                .onFailure()
                .recoverWithUni(end -> ended(
                        requests,
                        end instanceof DatabaseUnavailableException e
                                ? new AppendOutcome.Unavailable(Objects.requireNonNull(e.getMessage()))
                                : new AppendOutcome.Failed(end)));
    }

    /**
     * Writes those of the requests that have no outcome yet, in one transaction. If that fails because of one of them, finds
     * out which.
     *
     * @return gives the others their outcomes
     */
    private Uni<Runnable> write(UUID projectId, List<AppendRequest> together, int attempt) {
        List<AppendRequest> requests = AppendRequest.open(together);
        if (requests.isEmpty()) {
            return ended();
        }
        if (requests.get(0).key.numbered()) {
            return writeNumbered(projectId, requests, attempt);
        }
        return storeEach(pool, requests)
                .onItemOrFailure()
                .transformToUni((duplicates, failure) -> failure == null
                        ? compareStored(projectId, requests, duplicates, attempt)
                        : afterFailure(projectId, requests, attempt, failure));
    }

    /**
     * Writes requests with numbers. The first attempt waits for no lock for long: of the next ones, which wait for the
     * sequence for as long as it takes, it is known before that no open transaction holds their ids.
     */
    private Uni<Runnable> writeNumbered(UUID projectId, List<AppendRequest> requests, int attempt) {
        if (attempt == 0) {
            return store(pool, requests, bounds.lockTimeout())
                    .onFailure()
                    .recoverWithUni(failure -> afterFailure(projectId, requests, attempt, failure));
        }
        return refuseHeld(projectId, requests).chain(() -> {
            List<AppendRequest> open = AppendRequest.open(requests);
            return open.isEmpty()
                    ? ended()
                    : store(pool, open, lockTimeout)
                            .onFailure()
                            .recoverWithUni(failure -> afterFailure(projectId, open, attempt, failure));
        });
    }

    /**
     * Stores requests: one transaction, followed in the same round trip by the query for the places of its records.
     *
     * @return gives the requests their outcomes
     */
    private Uni<Runnable> store(Pool pool, List<AppendRequest> requests, Duration lockTimeout) {
        AppendBatch batch = AppendBatch.together(requests, guids);
        return pool.withConnection(connection -> Uni.combine()
                        .all()
                        .unis(
                                batch.insert(lockTimeout).execute(connection),
                                batch.readPlaces().execute(connection))
                        .usingConcurrencyOf(2)
                        .with((inserted, places) ->
                                batch.stored(inserted.iterator().next(), places, Set.of())))
                .map(stored -> () -> {
                    AppendRequest.succeed(requests, stored.records());
                    stored.heads().forEach(heads::appended);
                });
    }

    /**
     * Stores those requests that can be stored, in one transaction, and ends them and those that the database refuses. Those
     * with ids that open transactions hold fail.
     *
     * @return the requests with ids that exist
     */
    private Uni<List<AppendRequest>> storeEach(Pool pool, List<AppendRequest> requests) {
        // If one is not stored, what follows it in its series must not be, either.
        List<AppendRequest> tried = AppendRequest.firstOfEachSeries(requests);
        AppendBatch batch = AppendBatch.apart(tried, guids);
        return pool.withConnection(connection -> Uni.combine()
                        .all()
                        .unis(
                                batch.insertApart().execute(connection),
                                batch.readPlaces().execute(connection))
                        .usingConcurrencyOf(2)
                        .asTuple())
                .map(results ->
                        settle(tried, batch, results.getItem1().iterator().next(), results.getItem2()));
    }

    private List<AppendRequest> settle(
            List<AppendRequest> requests, AppendBatch batch, Row inserted, RowSet<Row> places) {
        Integer[] failed = inserted.getArrayOfIntegers("failed");
        Set<Integer> indexes = new HashSet<>();
        for (Integer place : failed) {
            indexes.add(place - 1);
        }
        List<AppendRequest> succeeded = new ArrayList<>();
        for (int i = 0; i < requests.size(); i++) {
            if (!indexes.contains(i)) {
                succeeded.add(requests.get(i));
            }
        }
        AppendBatch.Stored stored = batch.stored(inserted, places, indexes);
        AppendRequest.succeed(succeeded, stored.records());
        stored.heads().forEach(heads::appended);
        List<AppendRequest> duplicates = new ArrayList<>();
        for (int i = 0; i < failed.length; i++) {
            AppendRequest request = requests.get(failed[i] - 1);
            String state = inserted.getArrayOfStrings("failed_state")[i];
            suspects.add(request.key);
            switch (AppendFailure.ofRequest(state, inserted.getArrayOfStrings("failed_constraint")[i])) {
                case HELD -> request.fail(ID_HELD);
                case DUPLICATE -> duplicates.add(request);
                case REFUSED -> request.fail(new AppendOutcome.RejectedByDatabase(state));
                case RETRYABLE -> {
                    // It stays open.
                }
                case CLOSED, NO_NUMBER, FATAL ->
                    request.fail(new AppendOutcome.Failed(new IllegalStateException(state)));
            }
        }
        return duplicates;
    }

    /** Ends those of these requests that have an id which an open transaction holds. Never fails. */
    private Uni<Void> refuseHeld(UUID projectId, List<AppendRequest> requests) {
        List<Integer> numbers = new ArrayList<>();
        List<UUID> ids = new ArrayList<>();
        for (AppendRequest request : requests) {
            for (UUID id : request.missingIds()) {
                numbers.add(requests.indexOf(request) + 1);
                ids.add(id);
            }
        }
        return FIND_HELD_IDS
                .bind("project_id", projectId)
                .bind("request", numbers.toArray(Integer[]::new))
                .bind("id", ids.toArray(UUID[]::new))
                .execute(pool)
                .invoke(rows -> {
                    List<UUID> held = List.of(rows.iterator().next().getArrayOfUUIDs("held"));
                    for (AppendRequest request : requests) {
                        if (!Collections.disjoint(request.missingIds(), held)) {
                            request.fail(ID_HELD);
                        }
                    }
                })
                .onFailure()
                .recoverWithNull()
                .replaceWithVoid();
    }

    /** The connections for transactions that do not wait for locks. Nothing else takes them away. */
    private synchronized Pool writers() {
        if (writers == null) {
            writers = pools.openForWriters(config.writers(), bounds.lockTimeout());
        }
        return writers;
    }

    @PreDestroy
    synchronized void close() {
        if (writers != null) {
            writers.closeAndForget();
        }
    }

    /** What is left to do when all requests have their outcomes. */
    private static Uni<Runnable> ended() {
        return Uni.createFrom().<Runnable>item(() -> () -> {});
    }

    private static Uni<Runnable> ended(List<AppendRequest> requests, AppendOutcome outcome) {
        AppendRequest.fail(requests, outcome);
        return ended();
    }

    private Uni<Runnable> afterFailure(UUID projectId, List<AppendRequest> requests, int attempt, Throwable failure) {
        return switch (AppendFailure.of(failure)) {
            case RETRYABLE -> {
                if (DatabaseFailure.onlyReads(failure) && !pools.hasSeenPrimary()) {
                    yield ended(requests, new AppendOutcome.Unavailable(DatabaseFailure.advice(failure)));
                }
                // The connection may have broken during COMMIT, so the batch may be stored. It is sent again under
                // the same ids: if it is stored, the result is DUPLICATE.
                if (attempt >= config.retries()) {
                    LOG.warnf(failure, "Gave up on %d requests of project %s", requests.size(), projectId);
                    yield ended(
                            requests,
                            new AppendOutcome.Unavailable(
                                    "The database could not take the records in time. They may have been stored: send the"
                                            + " request again with the same ids."));
                }
                yield Uni.createFrom()
                        .voidItem()
                        .onItem()
                        .delayIt()
                        .by(DatabaseFailure.backOff(bounds.retryDelay(), bounds.maxRetryDelay(), attempt))
                        .chain(() -> write(projectId, requests, attempt + 1));
            }
            case HELD ->
                refuseHeld(projectId, requests)
                        .chain(() -> write(
                                projectId,
                                requests,
                                AppendRequest.open(requests).size() < requests.size() ? attempt : attempt + 1));
            case DUPLICATE -> compareStored(projectId, requests, requests, attempt);
            case NO_NUMBER -> writeWithoutUnnumbered(projectId, requests, attempt);
            case REFUSED ->
                requests.size() > 1
                        ? writeAlone(requests)
                        : ended(requests, new AppendOutcome.RejectedByDatabase(((PgException) failure).getSqlState()));
            case CLOSED -> ended(requests, new AppendOutcome.ProjectClosed());
            case FATAL -> ended(requests, new AppendOutcome.Failed(failure));
        };
    }

    /**
     * Ends the requests whose records are stored or whose ids are taken, and writes the others.
     *
     * @param duplicates the requests with ids that exist
     */
    private Uni<Runnable> compareStored(
            UUID projectId, List<AppendRequest> requests, List<AppendRequest> duplicates, int attempt) {
        if (duplicates.isEmpty()) {
            return writeOthers(projectId, requests, attempt, false);
        }
        return readStored(projectId, duplicates).chain(stored -> {
            boolean found = false;
            for (AppendRequest request : duplicates) {
                found |= request.compareWith(stored, guids, config.retries());
            }
            return writeOthers(projectId, requests, attempt, found);
        });
    }

    /** Writes those that are left of these requests; an attempt that has brought nothing counts. */
    private Uni<Runnable> writeOthers(UUID projectId, List<AppendRequest> requests, int attempt, boolean found) {
        List<AppendRequest> others = AppendRequest.open(requests);
        if (others.isEmpty()) {
            return ended();
        }
        boolean progress = found || others.size() < requests.size();
        if (!progress && others.size() > 1) {
            // Two requests in this batch share an id: the first one wins.
            return writeAlone(others);
        }
        if (!progress && attempt >= config.retries()) {
            return ended(others, new AppendOutcome.Unavailable("Another writer holds one of these ids. Try again."));
        }
        return write(projectId, others, progress ? attempt : attempt + 1);
    }

    /** Some records cannot get the numbers they want. Rejects their requests, and writes the others. */
    private Uni<Runnable> writeWithoutUnnumbered(UUID projectId, List<AppendRequest> requests, int attempt) {
        return readValuesLeft(projectId, requests).chain(left -> {
            for (AppendRequest request : requests) {
                if (request.isOpen()) {
                    request.refuseNumbers(left);
                }
            }
            List<AppendRequest> others = AppendRequest.open(requests);
            if (others.isEmpty()) {
                return ended();
            }
            boolean progress = others.size() < requests.size();
            if (!progress && attempt >= config.retries()) {
                return ended(others, new AppendOutcome.Unavailable("Other writers took the numbers. Try again."));
            }
            return write(projectId, others, progress ? attempt : attempt + 1);
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
        return DatabaseFailure.retried(READ_VALUES_LEFT
                .bind("project_id", projectId)
                .bind("name", names.toArray(String[]::new))
                .execute(pool)
                .map(ValuesLeft::new));
    }

    /** Writes each request in a transaction of its own, so that only the one that the database refuses fails. */
    private Uni<Runnable> writeAlone(List<AppendRequest> requests) {
        return Multi.createFrom()
                .iterable(requests)
                .onItem()
                .transformToUniAndConcatenate(
                        request -> writeOwn(List.of(request), null).invoke(Runnable::run))
                .collect()
                .last()
                .chain(() -> ended());
    }

    /**
     * What is stored under the ids of the requests. If a stored record has other content than every record sent, only its id
     * is kept: it may be a thousand times as large.
     */
    private Uni<Map<UUID, StoredRecord>> readStored(UUID projectId, List<AppendRequest> requests) {
        Map<UUID, List<AuditRecord>> sent = new HashMap<>();
        for (AppendRequest request : requests) {
            for (AuditRecord record : request.missing()) {
                sent.computeIfAbsent(record.id(), id -> new ArrayList<>()).add(record);
            }
        }
        return DatabaseFailure.retried(READ_RECORDS
                .bind("project_id", projectId)
                .bind("id", sent.keySet().toArray(UUID[]::new))
                .execute(pool, row -> {
                    StoredRecord stored = RecordRow.record(row);
                    return sent.getOrDefault(RecordRow.recordId(row), List.of()).stream()
                                    .anyMatch(stored::isSentAs)
                            ? stored
                            : stored.withoutContent();
                })
                .map(rows -> {
                    Map<UUID, StoredRecord> stored = new HashMap<>();
                    for (StoredRecord record : rows) {
                        stored.put(record.record().id(), record);
                    }
                    return stored;
                }));
    }
}
