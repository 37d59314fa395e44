package dev.annals.append;

import dev.annals.database.DatabaseFailure;
import dev.annals.database.DatabaseUnavailableException;
import dev.annals.database.ServicePool;
import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.live.HeadWatch;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordRow;
import dev.annals.record.StoredRecord;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.pgclient.PgException;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Writes requests into the database, many in one transaction. A record that the database refuses fails only its own request,
 * transient failures are retried, and what is already stored is not stored twice.
 */
@ApplicationScoped
class AppendWriter implements ProjectQueues.Flush {

    private static final Logger LOG = Logger.getLogger(AppendWriter.class);
    private static final Sql READ_RECORDS = Sql.named("read_records");
    private static final Sql READ_VALUES_LEFT = Sql.named("read_values_left");

    private final Pool pool;
    private final SequentialGuid guids;
    private final HeadWatch heads;
    private final AppendConfig config;
    private final ServicePool pools;
    private @Nullable Pool writers;

    AppendWriter(Pool pool, ServicePool pools, SequentialGuid guids, HeadWatch heads, AppendConfig config) {
        this.pool = pool;
        this.pools = pools;
        this.guids = guids;
        this.heads = heads;
        this.config = config;
    }

    /**
     * Writes requests together, in one transaction.
     *
     * @param requests those of one project stand together
     * @return gives the requests their outcomes. Fails with {@link ProjectQueues.WriteApartException} alone, if anything
     *     stands in the way of one of them: a lock that is held for longer than {@link AppendConfig#lockTimeout}, a record
     *     that is stored or refused, or the database is away
     */
    @Override
    public Uni<Runnable> writeTogether(List<AppendRequest> requests) {
        return Uni.createFrom()
                .deferred(() -> {
                    List<AppendRequest> open = AppendRequest.open(requests);
                    AppendBatch batch = new AppendBatch(open, guids);
                    return batch.isEmpty() ? ended() : store(writers(), open, batch);
                })
                .onFailure()
                .transform(ProjectQueues.WriteApartException::new);
    }

    /**
     * Writes requests of one project. Either all of them want numbers, or none does. A record that the database refuses fails
     * only its own request, transient failures are retried, and what is already stored is not stored twice.
     *
     * @return as described at {@link ProjectQueues.Flush}; never fails
     */
    @Override
    public Uni<Runnable> writeApart(List<AppendRequest> requests, @Nullable Throwable failure) {
        return Uni.createFrom()
                .deferred(() -> {
                    UUID projectId = requests.get(0).lane.projectId();
                    return failure == null
                            ? write(projectId, requests, 0)
                            : afterFailure(projectId, AppendRequest.open(requests), 0, failure);
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
        AppendBatch batch = new AppendBatch(requests, guids);
        if (batch.isEmpty()) {
            return ended();
        }
        return store(pool, requests, batch)
                .onFailure()
                .recoverWithUni(failure -> afterFailure(projectId, requests, attempt, failure));
    }

    /**
     * Stores a batch: one transaction, followed in the same round trip by the query for the places of its records.
     *
     * @return gives the requests their outcomes
     */
    private Uni<Runnable> store(Pool pool, List<AppendRequest> requests, AppendBatch batch) {
        return pool.withConnection(connection -> Uni.combine()
                        .all()
                        .unis(
                                batch.insert().execute(connection),
                                batch.readPlaces().execute(connection))
                        .usingConcurrencyOf(2)
                        .with((inserted, places) ->
                                batch.stored(inserted.iterator().next(), places)))
                .map(stored -> () -> {
                    AppendRequest.succeed(requests, stored);
                    batch.heads(stored).forEach(heads::appended);
                });
    }

    /** The connections for transactions that do not wait for locks. Nothing else takes them away. */
    private synchronized Pool writers() {
        if (writers == null) {
            writers = pools.openForWriters(config.writers(), config.lockTimeout());
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
                        .by(DatabaseFailure.backOff(config.retryDelay(), config.maxRetryDelay(), attempt))
                        .chain(() -> write(projectId, requests, attempt + 1));
            }
            case DUPLICATE -> writeWithoutStored(projectId, requests, attempt);
            case NO_NUMBER -> writeWithoutUnnumbered(projectId, requests, attempt);
            case REFUSED ->
                requests.size() > 1
                        ? writeAlone(requests)
                        : ended(requests, new AppendOutcome.RejectedByDatabase(((PgException) failure).getSqlState()));
            case FATAL -> ended(requests, new AppendOutcome.Failed(failure));
        };
    }

    /** Some ids exist already. Ends the requests whose records are stored or whose ids are taken, and writes the others. */
    private Uni<Runnable> writeWithoutStored(UUID projectId, List<AppendRequest> requests, int attempt) {
        return readStored(projectId, requests).chain(stored -> {
            boolean progress = false;
            for (AppendRequest request : requests) {
                progress |= !request.isOpen() || request.compareWith(stored, guids, config.retries());
            }
            List<AppendRequest> others = AppendRequest.open(requests);
            if (others.isEmpty()) {
                return ended();
            }
            if (!progress && others.size() > 1) {
                // Two requests in this batch share an id: the first one wins.
                return writeAlone(others);
            }
            if (!progress && attempt >= config.retries()) {
                return ended(
                        others, new AppendOutcome.Unavailable("Another writer holds one of these ids. Try again."));
            }
            return write(projectId, others, progress ? attempt : attempt + 1);
        });
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
                        request -> writeApart(List.of(request), null).invoke(Runnable::run))
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
                                    .anyMatch(record -> record.sameContentAs(stored.record()))
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
