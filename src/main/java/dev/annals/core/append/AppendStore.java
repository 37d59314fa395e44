package dev.annals.core.append;

import dev.annals.access.places.Places;
import dev.annals.core.feed.HeadWatch;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordRow;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.DatabaseUnavailableException;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.tuples.Tuple2;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Writes batches of requests into one database. {@link FailedBatch} handles failures: a record that the database refuses fails
 * only its own request, transient failures are retried, and no record is stored twice.
 */
final class AppendStore implements AppendQueue.Store, AutoCloseable {

    private static final Sql FIND_HELD_IDS = Sql.named("core/append/find_held_ids");
    private static final Sql READ_RECORDS = Sql.named("core/feed/read_records");
    private static final Sql READ_VALUES_LEFT = Sql.named("core/append/read_values_left");

    private static final AppendOutcome ID_HELD = new AppendOutcome.Unavailable(
            "A transaction that is still open holds the id of a record. Send the request again with the same ids.");

    private final Database database;
    private final Places places;
    private final Function<Database, AppendStore> stores;
    private final Pool pool;
    private final SequentialGuid guids;
    private final HeadWatch heads;
    private final AppendConfig config;
    private final AppendBounds bounds;
    private final Duration lockTimeout;
    private @Nullable Pool writers;

    /**
     * Writes into a database.
     *
     * @param stores of all databases
     * @param lockTimeout of batches that may wait for a lock for long
     */
    AppendStore(
            Database database,
            Places places,
            Function<Database, AppendStore> stores,
            SequentialGuid guids,
            HeadWatch heads,
            AppendConfig config,
            AppendBounds bounds,
            Duration lockTimeout) {
        this.database = database;
        this.places = places;
        this.stores = stores;
        this.pool = database.pool();
        this.guids = guids;
        this.heads = heads;
        this.config = config;
        this.bounds = bounds;
        this.lockTimeout = lockTimeout;
    }

    /**
     * Tries one transaction. If that fails because of single requests, writes each in a subtransaction.
     *
     * @param requests those of one project stand together
     */
    @Override
    public Uni<Runnable> writeShared(List<AppendRequest> requests) {
        return Uni.createFrom()
                .deferred(() -> {
                    List<AppendRequest> open = AppendRequest.open(requests);
                    return open.isEmpty()
                            ? ended()
                            : store(writers(), open, bounds.lockTimeout())
                                    .onFailure(failure ->
                                            FailedBatch.Kind.of(failure).isOfSingleRequests())
                                    .recoverWithUni(failure -> storeOthers(open, failure));
                })
                .onFailure(failure -> !(failure instanceof AppendQueue.NotSharedException))
                .transform(AppendQueue.NotSharedException::new);
    }

    private Uni<Runnable> storeOthers(List<AppendRequest> requests, Throwable failure) {
        if (requests.size() == 1) {
            AppendRequest only = requests.get(0);
            only.spoilBatch();
            return Uni.createFrom().failure(new AppendQueue.NotSharedException(failure, Set.of(only.key)));
        }
        return storeEach(writers(), requests).chain(() -> {
            Set<AppendQueue.Key> left = AppendRequest.open(requests).stream()
                    .map(request -> request.key)
                    .collect(Collectors.toSet());
            return left.isEmpty() ? ended() : Uni.createFrom().failure(new AppendQueue.NotSharedException(null, left));
        });
    }

    /** Whether the project is in another database, as far as this instance knows. */
    @Override
    public boolean hasLeft(UUID projectId) {
        return places.of(projectId) != database;
    }

    Places.Search search(UUID projectId) {
        return places.search(projectId);
    }

    /** The store of the database to try after this one has refused the project. */
    Uni<AppendStore> after(Throwable refusal, Places.Search search) {
        return search.after(database, refusal).map(stores);
    }

    /** Never fails. Requests whose project has left are written where it is. */
    @Override
    public Uni<Runnable> writeOwn(List<AppendRequest> requests, @Nullable Throwable failure) {
        return Uni.createFrom()
                .deferred(() -> {
                    if (failure != null) {
                        return new FailedBatch(this, requests).writeAfter(failure);
                    }
                    Database place = places.of(requests.get(0).key.projectId());
                    return new FailedBatch(stores.apply(place), requests).write();
                })
                .onFailure()
                .recoverWithUni(end -> {
                    AppendRequest.fail(
                            requests,
                            end instanceof DatabaseUnavailableException e
                                    ? new AppendOutcome.Unavailable(Objects.requireNonNull(e.getMessage()))
                                    : new AppendOutcome.Failed(end));
                    return ended();
                });
    }

    static Uni<Runnable> ended() {
        return Uni.createFrom().<Runnable>item(() -> () -> {});
    }

    /**
     * Stores requests of one queue, all or none.
     *
     * @param briefly whether to wait for no lock for long
     */
    Uni<Runnable> storeAll(List<AppendRequest> requests, boolean briefly) {
        return store(pool, requests, briefly ? bounds.lockTimeout() : lockTimeout);
    }

    /** One round trip: the transaction, and the query for the places of its records. */
    private Uni<Runnable> store(Pool pool, List<AppendRequest> requests, Duration lockTimeout) {
        AppendBatch batch = AppendBatch.whole(requests, guids);
        return execute(pool, batch.insert(lockTimeout), batch.readPlaces())
                .map(rows -> batch.stored(rows.getItem1(), rows.getItem2(), Set.of()))
                .map(stored -> () -> {
                    AppendRequest.succeed(requests, stored.records());
                    stored.heads().forEach(heads::appended);
                });
    }

    private static Uni<Tuple2<Row, RowSet<Row>>> execute(Pool pool, Binds insert, Binds readPlaces) {
        return pool.withConnection(connection -> Uni.combine()
                .all()
                .unis(insert.execute(connection), readPlaces.execute(connection))
                .usingConcurrencyOf(2)
                .with((inserted, places) -> Tuple2.of(inserted.iterator().next(), places)));
    }

    /** Stores the requests that can be stored, in one transaction, and notes the failures of the others. */
    Uni<Void> storeEach(List<AppendRequest> requests) {
        return storeEach(pool, requests);
    }

    private Uni<Void> storeEach(Pool pool, List<AppendRequest> requests) {
        // If one is not stored, the next of its series must not be, either.
        List<AppendRequest> tried = AppendRequest.firstOfEachSeries(requests);
        AppendBatch batch = AppendBatch.each(tried, guids);
        return execute(pool, batch.insertEach(), batch.readPlaces())
                .invoke(rows -> end(tried, batch, rows.getItem1(), rows.getItem2()))
                .replaceWithVoid();
    }

    private void end(List<AppendRequest> requests, AppendBatch batch, Row inserted, RowSet<Row> places) {
        Integer[] failed = inserted.getArrayOfIntegers("failed");
        Set<Integer> indexes = Arrays.stream(failed).map(number -> number - 1).collect(Collectors.toSet());
        AppendBatch.Stored stored = batch.stored(inserted, places, indexes);
        AppendRequest.succeed(
                IntStream.range(0, requests.size())
                        .filter(i -> !indexes.contains(i))
                        .mapToObj(requests::get)
                        .toList(),
                stored.records());
        stored.heads().forEach(heads::appended);
        for (int i = 0; i < failed.length; i++) {
            AppendRequest request = requests.get(failed[i] - 1);
            String state = inserted.getArrayOfStrings("failed_state")[i];
            request.spoilBatch();
            switch (FailedBatch.Kind.ofRequest(state, inserted.getArrayOfStrings("failed_constraint")[i])) {
                case ID_HELD -> request.fail(ID_HELD);
                case ID_EXISTS -> request.noteExistingId();
                case REFUSED -> request.fail(new AppendOutcome.RejectedByDatabase(state));
                case RETRYABLE, APPEND_TAKEN -> {
                    // It stays open.
                }
                case CLOSED, ELSEWHERE, NO_NUMBER, FATAL ->
                    request.fail(new AppendOutcome.Failed(new IllegalStateException(state)));
            }
        }
    }

    /** Ends the requests with an id that an open transaction holds. Never fails. */
    Uni<Void> endWithHeldIds(List<AppendRequest> requests) {
        List<Integer> numbers = new ArrayList<>();
        List<UUID> ids = new ArrayList<>();
        for (int i = 0; i < requests.size(); i++) {
            List<UUID> missing = requests.get(i).missingIds();
            numbers.addAll(Collections.nCopies(missing.size(), i + 1));
            ids.addAll(missing);
        }
        return FIND_HELD_IDS
                .bind("project_id", requests.get(0).key.projectId())
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

    /** If a stored record has other content, only its id is kept: it may be a thousand times as large. */
    Uni<Map<UUID, StoredRecord>> findStored(UUID projectId, List<AppendRequest> requests) {
        Map<UUID, List<AuditRecord>> sent = requests.stream()
                .flatMap(request -> request.missing().stream())
                .collect(Collectors.groupingBy(AuditRecord::id));
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

    Uni<RowSet<Row>> readValuesLeft(UUID projectId, List<AppendRequest> requests) {
        String[] names = requests.stream()
                .flatMap(request -> request.missing().stream())
                .map(AuditRecord::numberSequence)
                .filter(Objects::nonNull)
                .distinct()
                .toArray(String[]::new);
        return DatabaseFailure.retried(READ_VALUES_LEFT
                .bind("project_id", projectId)
                .bind("name", names)
                .execute(pool));
    }

    SequentialGuid guids() {
        return guids;
    }

    int retries() {
        return config.retries();
    }

    Duration retryDelay(int attempts) {
        return DatabaseFailure.backOff(bounds.retryDelay(), bounds.maxRetryDelay(), attempts);
    }

    boolean hasSeenPrimary() {
        return database.hasSeenPrimary();
    }

    /** Their transactions wait for no lock for long. */
    private synchronized Pool writers() {
        if (writers == null) {
            writers = database.openForWriters(config.writers(), bounds.lockTimeout());
        }
        return writers;
    }

    @Override
    public synchronized void close() {
        if (writers != null) {
            writers.closeAndForget();
        }
    }
}
