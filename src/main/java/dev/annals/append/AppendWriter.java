package dev.annals.append;

import dev.annals.database.DatabaseFailure;
import dev.annals.database.DatabaseUnavailableException;
import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.live.HeadWatch;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordRow;
import dev.annals.record.StoredRecord;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jboss.logging.Logger;

/**
 * Writes requests into the database, many in one transaction. A record that the database refuses fails its own request
 * alone, what broke in passing is tried again, and what is stored already is not stored twice.
 */
@ApplicationScoped
class AppendWriter {

    private static final Logger LOG = Logger.getLogger(AppendWriter.class);
    private static final String READ_PLACES = Sql.named("read_places");
    private static final String READ_RECORDS = Sql.named("read_records");
    private static final String READ_VALUES_LEFT = Sql.named("read_values_left");

    private final Pool pool;
    private final SequentialGuid guids;
    private final HeadWatch heads;
    private final AppendConfig config;

    AppendWriter(Pool pool, SequentialGuid guids, HeadWatch heads, AppendConfig config) {
        this.pool = pool;
        this.guids = guids;
        this.heads = heads;
        this.config = config;
    }

    /**
     * Writes requests of one project, all of which want numbers or none of which does.
     *
     * @return as {@link ProjectQueues.Flush} has it; never fails
     */
    Uni<Runnable> write(List<AppendRequest> requests) {
        return Uni.createFrom()
                .deferred(() -> writeTogether(requests.get(0).lane.projectId(), requests, 0))
                .onFailure()
                .recoverWithUni(failure -> ended(
                        requests,
                        failure instanceof DatabaseUnavailableException e
                                ? new AppendOutcome.Unavailable(Objects.requireNonNull(e.getMessage()))
                                : new AppendOutcome.Failed(failure)));
    }

    /**
     * Writes those of the requests that have no outcome yet in one transaction. Where that fails for one of them, finds out
     * which.
     *
     * @return what gives the others theirs
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
            return ended();
        }
        return store(projectId, records, tokenIds)
                .<Runnable>map(stored -> () -> {
                    AppendRequest.succeed(requests, stored);
                    heads.appended(projectId, stored.get(stored.size() - 1).sequenceId());
                })
                .onFailure()
                .recoverWithUni(failure -> afterFailure(projectId, requests, attempt, failure));
    }

    /** What is left to do where all requests have their outcomes. */
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
                // The connection may have broken during COMMIT, so the batch may be stored. It is sent again under the
                // same ids: where it is there already, that shows as DUPLICATE.
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
                        .chain(() -> writeTogether(projectId, requests, attempt + 1));
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

    /** Some ids exist: ends the requests whose records are stored or whose ids are taken, and writes the others. */
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
                // Two requests of this batch share an id: the first of them wins.
                return writeAlone(others);
            }
            if (!progress && attempt >= config.retries()) {
                return ended(
                        others, new AppendOutcome.Unavailable("Another writer holds one of these ids. Try again."));
            }
            return writeTogether(projectId, others, progress ? attempt : attempt + 1);
        });
    }

    /** Some records cannot have the numbers they want: rejects their requests, and writes the others. */
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
    private Uni<Runnable> writeAlone(List<AppendRequest> requests) {
        return Multi.createFrom()
                .iterable(requests)
                .onItem()
                .transformToUniAndConcatenate(request -> write(List.of(request)).invoke(Runnable::run))
                .collect()
                .last()
                .chain(() -> ended());
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
}
