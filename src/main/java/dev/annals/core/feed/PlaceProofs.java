package dev.annals.core.feed;

import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Asks the database whether a known record still stands at its place, and where its feed ends: one statement for all who ask
 * at the same time. Whoever asks while statements are under way goes out with the next one, so an answer always shows
 * everything that was committed before the question. Safe for any thread.
 */
@ApplicationScoped
class PlaceProofs {

    private static final Sql PROVE_PLACES = Sql.named("core/feed/prove_places");
    private static final int IN_FLIGHT = 2;
    private static final int PLACES_PER_STATEMENT = 1_000;

    private final Pool pool;
    private final Vertx vertx;
    private final Context context;
    /** Those who ask with the next statement. As many may wait as there are requests. */
    private Map<Place, List<Caller>> next = new LinkedHashMap<>();

    private int inFlight;
    private volatile @Nullable History history;

    PlaceProofs(@Reads Pool pool, Vertx vertx) {
        this.pool = pool;
        this.vertx = vertx;
        this.context = vertx.getOrCreateContext();
    }

    /**
     * What every record was read from. After a failover to another server, or a backup that was restored, it is another one,
     * and the same place may hold another record.
     */
    record History(OffsetDateTime serverStarted, long databaseOid) {}

    /**
     * What stood at a place.
     *
     * @param recordId null if nothing did
     * @param mark that of the place; null if nothing stood there
     * @param head the sequence id of the newest record; 0 if there is none
     * @param redactions how many the project has seen
     * @param horizon up to where its records have expired
     */
    record Proof(
            @Nullable UUID recordId,
            @Nullable Integer mark,
            long head,
            long redactions,
            long horizon,
            History history) {}

    private record Place(UUID projectId, long sequenceId) {}

    private record Caller(Context context, UniEmitter<? super Proof> answer) {}

    /** The history as last seen; null if nobody has asked yet. */
    @Nullable
    History history() {
        return history;
    }

    /** Asks for one place. Answers on the context that subscribes. */
    Uni<Proof> ask(UUID projectId, long sequenceId) {
        return Uni.createFrom()
                .emitter(answer ->
                        ask(new Place(projectId, sequenceId), new Caller(vertx.getOrCreateContext(), answer)));
    }

    private void ask(Place place, Caller caller) {
        Map<Place, List<Caller>> batch;
        synchronized (this) {
            next.computeIfAbsent(place, key -> new ArrayList<>()).add(caller);
            batch = take();
        }
        send(batch);
    }

    /** What goes out now; empty if it has to wait. */
    private Map<Place, List<Caller>> take() {
        if (inFlight == IN_FLIGHT || next.isEmpty()) {
            return Map.of();
        }
        inFlight++;
        Map<Place, List<Caller>> batch = next;
        next = new LinkedHashMap<>();
        if (batch.size() > PLACES_PER_STATEMENT) {
            List<Place> rest =
                    batch.keySet().stream().skip(PLACES_PER_STATEMENT).toList();
            for (Place place : rest) {
                next.put(place, batch.remove(place));
            }
        }
        return batch;
    }

    private void send(Map<Place, List<Caller>> batch) {
        if (batch.isEmpty()) {
            return;
        }
        UUID[] projectIds = batch.keySet().stream().map(Place::projectId).toArray(UUID[]::new);
        Long[] sequenceIds = batch.keySet().stream().map(Place::sequenceId).toArray(Long[]::new);
        context.runOnContext(now -> PROVE_PLACES
                .bind("project_id", projectIds)
                .bind("sequence_id", sequenceIds)
                .execute(pool)
                .subscribe()
                .with(rows -> answer(batch, rows), failure -> fail(batch, failure)));
    }

    private void answer(Map<Place, List<Caller>> batch, RowSet<Row> rows) {
        sendNext();
        Map<Place, Proof> proofs = new HashMap<>();
        for (Row row : rows) {
            History read = new History(row.getOffsetDateTime("server_started"), row.getLong("database_oid"));
            history = read;
            proofs.put(
                    new Place(row.getUUID("project_id"), row.getLong("sequence_id")),
                    new Proof(
                            row.getUUID("record_id"),
                            row.getInteger("mark"),
                            row.getLong("head"),
                            row.getLong("redactions"),
                            row.getLong("horizon"),
                            read));
        }
        batch.forEach((place, callers) -> callers.forEach(
                caller -> caller.context.runOnContext(now -> caller.answer.complete(proofs.get(place)))));
    }

    private void fail(Map<Place, List<Caller>> batch, Throwable failure) {
        sendNext();
        batch.values()
                .forEach(callers ->
                        callers.forEach(caller -> caller.context.runOnContext(now -> caller.answer.fail(failure))));
    }

    private void sendNext() {
        Map<Place, List<Caller>> batch;
        synchronized (this) {
            inFlight--;
            batch = take();
        }
        send(batch);
    }
}
