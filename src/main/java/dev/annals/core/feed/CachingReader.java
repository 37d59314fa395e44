package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.places.Places;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.query.Filter;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.memory.Reservation;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Typed;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Answers pages at the ends of feeds from memory, because most clients read there. A page comes from the cache if the
 * database confirms, after the request arrived, that
 *
 * <ul>
 *   <li>the last cached record still stands at its place in the same {@link History},
 *   <li>no value of the project was redacted since, and
 *   <li>no cached record has expired.
 * </ul>
 *
 * <p>Records do not change otherwise and sequence ids have no gap, so all earlier cached records still stand, too. Records
 * that were only appended are not cached. Safe for any thread.
 */
@ApplicationScoped
@Typed(CachingReader.class)
class CachingReader implements FeedReader {

    /** Limits how long the cache can hide a record that was changed outside the service. */
    private static final Duration CACHED = Duration.ofSeconds(10);

    private static final int MAX_RECORDS = 2_000;
    /** Bytes of memory for a record besides its JSON. */
    private static final int RECORD_OVERHEAD = 100;

    private final DatabaseReader.Placed database;
    private final Places places;
    private final PerDatabase<PlaceFinder> finders;
    private final Cache<UUID, Tail> tails;
    private final long maxBytes;
    private final Counter fromMemory;
    private final Counter fromDatabase;

    CachingReader(
            DatabaseReader.Placed database,
            Places places,
            Databases databases,
            Vertx vertx,
            FeedConfig config,
            MeterRegistry metrics) {
        this.database = database;
        this.places = places;
        this.finders = new PerDatabase<>(databases, one -> new PlaceFinder(one.reads(), vertx));
        this.maxBytes = config.keptBytes();
        this.tails = Caffeine.newBuilder()
                .maximumWeight(maxBytes)
                .<UUID, Tail>weigher((projectId, tail) -> tail.bytes)
                .build();
        this.fromMemory = metrics.counter("annals.feed.pages", "source", "memory");
        this.fromDatabase = metrics.counter("annals.feed.pages", "source", "database");
    }

    @Override
    public Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held) {
        if (query.order() == Order.DESCENDING
                || !query.filter().equals(Filter.NONE)
                || query.format() != RecordEncoder.Format.JSON) {
            return database.read(projectId, query, held);
        }
        return Uni.createFrom().deferred(() -> readCached(projectId, query)).chain(page -> {
            if (page == null) {
                return readAndCache(projectId, query, held);
            }
            // Requests share the records, but each answer has a copy.
            if (held == null || held.tryGrowTo(page.answerAtMost())) {
                return Uni.createFrom().item(page);
            }
            return read(projectId, query.atMost(FeedQuery.bytesWithin(held.bytes())), held);
        });
    }

    /** Pages in memory are of the database that the map names. */
    @Override
    public FeedReader in(Database one) {
        return database.in(one);
    }

    /** Null if the database has to be read. */
    private Uni<@Nullable FeedPage> readCached(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor() == null ? Cursor.START : query.cursor();
        Tail tail = tails.getIfPresent(projectId);
        int position = tail == null || tail.isOld() ? -1 : tail.position(projectId, cursor);
        if (tail == null || position < 0) {
            fromDatabase.increment();
            return Uni.createFrom().nullItem();
        }
        return DatabaseFailure.retried(finder(projectId).find(projectId, tail.end.sequenceId()))
                .map(found -> {
                    FeedPage page = tail.stands(projectId, found)
                            ? tail.page(projectId, position, query, found.head > tail.end.sequenceId())
                            : null;
                    (page == null ? fromDatabase : fromMemory).increment();
                    return page;
                });
    }

    private Uni<FeedPage> readAndCache(UUID projectId, FeedQuery query, @Nullable Reservation held) {
        // Taken before the read: a page of another history never counts as one of this history.
        History history = finder(projectId).history;
        return database.read(projectId, query, held).invoke(page -> cache(projectId, page, history));
    }

    private void cache(UUID projectId, FeedPage page, @Nullable History history) {
        if (page.snapshot() == null || page.next() != null || maxBytes == 0) {
            return;
        }
        Cursor begin = page.snapshot().begin();
        if (begin.sequenceId() > 0 && begin.check() == null) {
            return;
        }
        if (history == null) {
            // The first page after the start: the answer tells the history for the next one.
            finder(projectId).find(projectId, 0).subscribe().with(found -> {}, failure -> {});
            return;
        }
        Tail tail = new Tail(
                begin, page.pollMore(), page.records(), history, page.snapshot().redactions(), System.nanoTime());
        if (isSmall(tail)) {
            tails.asMap().merge(projectId, tail, (before, added) -> join(projectId, before, added));
        }
    }

    private PlaceFinder finder(UUID projectId) {
        return finders.of(places.of(projectId));
    }

    /** No project takes more than a quarter of the memory. */
    private boolean isSmall(Tail tail) {
        return tail.bytes <= maxBytes / 4 && tail.records.size() <= MAX_RECORDS;
    }

    /** The newer one alone if the second does not begin in the first. */
    private Tail join(UUID projectId, Tail known, Tail added) {
        if (known.isOld() || !known.history.equals(added.history) || known.redactions < added.redactions) {
            return added;
        }
        if (known.redactions > added.redactions || known.end.sequenceId() > added.end.sequenceId()) {
            return known;
        }
        int position = known.position(projectId, added.begin);
        if (position < 0) {
            return added;
        }
        List<EncodedRecord> all = new ArrayList<>(position + added.records.size());
        all.addAll(known.records.subList(0, position));
        all.addAll(added.records);
        Tail both = new Tail(known.begin, added.end, all, added.history, added.redactions, known.readAt);
        return isSmall(both) ? both : added;
    }

    /** The records from one cursor to the head of the feed. */
    private static final class Tail {
        final Cursor begin;
        final Cursor end;
        final List<EncodedRecord> records;
        final History history;
        /** In the whole project, when the records were read. */
        final long redactions;
        /** When the oldest records were read, as {@link System#nanoTime()}. */
        final long readAt;

        final int bytes;

        Tail(Cursor begin, Cursor end, List<EncodedRecord> records, History history, long redactions, long readAt) {
            this.begin = begin;
            this.end = end;
            this.records = records;
            this.history = history;
            this.redactions = redactions;
            this.readAt = readAt;
            long sum = RECORD_OVERHEAD;
            for (EncodedRecord record : records) {
                sum += record.length() + RECORD_OVERHEAD;
            }
            this.bytes = (int) Math.min(sum, Integer.MAX_VALUE);
        }

        boolean isOld() {
            return System.nanoTime() - readAt > CACHED.toNanos();
        }

        /** -1 if the cursor lies outside or belongs to another record. */
        int position(UUID projectId, Cursor cursor) {
            if (cursor.sequenceId() < begin.sequenceId() || cursor.sequenceId() > end.sequenceId()) {
                return -1;
            }
            int position = (int) (cursor.sequenceId() - begin.sequenceId());
            boolean matches = cursor.check() == null
                    || (position == 0
                            ? cursor.equals(begin)
                            : cursor.equals(Cursor.behind(projectId, records.get(position - 1))));
            return matches ? position : -1;
        }

        boolean stands(UUID projectId, Found found) {
            boolean there = end.sequenceId() == 0
                    || (found.recordId != null
                            && found.mark != null
                            && end.matches(projectId, found.recordId, found.mark));
            return found.here
                    && there
                    && history.equals(found.history)
                    && redactions == found.redactions
                    && begin.sequenceId() >= found.horizon;
        }

        /** Null if the page also has records that are not cached. */
        @Nullable
        FeedPage page(UUID projectId, int position, FeedQuery query, boolean grown) {
            List<EncodedRecord> fitting = new ArrayList<>();
            long bytes = 0;
            for (EncodedRecord record : records.subList(position, records.size())) {
                bytes += record.length();
                if (fitting.size() == query.limit() || (bytes > query.maxBytes() && !fitting.isEmpty())) {
                    return page(projectId, fitting, true);
                }
                fitting.add(record);
            }
            if (grown) {
                return fitting.size() == query.limit() ? page(projectId, fitting, true) : null;
            }
            if (fitting.isEmpty()) {
                return new FeedPage(fitting, null, null, query.cursor() == null ? Cursor.START : query.cursor());
            }
            return page(projectId, fitting, false);
        }

        private static FeedPage page(UUID projectId, List<EncodedRecord> records, boolean more) {
            Cursor last = Cursor.behind(projectId, records.get(records.size() - 1));
            return new FeedPage(records, more ? last : null, null, last);
        }
    }

    /**
     * The server and the database that records were read from. After a failover or a restore, the same place may have another
     * record.
     */
    private record History(OffsetDateTime serverStarted, long databaseOid) {}

    /**
     * The record at a place, if it has one, and the state of its feed.
     *
     * @param head 0 if the feed is empty
     * @param horizon the sequence id up to which records have expired
     */
    private record Found(
            @Nullable UUID recordId,
            @Nullable Integer mark,
            long head,
            long redactions,
            long horizon,
            boolean here,
            History history) {}

    /**
     * Looks up places in batches. Questions that arrive while {@link #IN_FLIGHT} statements run share the next one, so an
     * answer shows everything that was committed before the question.
     */
    private static final class PlaceFinder {

        private static final Sql FIND_PLACES = Sql.named("core/feed/find_places");
        private static final int IN_FLIGHT = 2;
        private static final int PLACES_PER_STATEMENT = 1_000;

        private final Pool pool;
        private final Vertx vertx;
        private final Context context;
        /** At most one question per request. */
        private Map<Place, List<Caller>> next = new LinkedHashMap<>();

        private int inFlight;
        private volatile @Nullable History history;

        PlaceFinder(Pool pool, Vertx vertx) {
            this.pool = pool;
            this.vertx = vertx;
            this.context = vertx.getOrCreateContext();
        }

        private record Place(UUID projectId, long sequenceId) {}

        private record Caller(Context context, UniEmitter<? super Found> answer) {}

        /** Answers on the context that subscribes. */
        Uni<Found> find(UUID projectId, long sequenceId) {
            return Uni.createFrom()
                    .emitter(answer ->
                            ask(new Place(projectId, sequenceId), new Caller(vertx.getOrCreateContext(), answer)));
        }

        private void ask(Place place, Caller caller) {
            Map<Place, List<Caller>> batch;
            synchronized (this) {
                next.computeIfAbsent(place, key -> new ArrayList<>()).add(caller);
                batch = takeBatch();
            }
            send(batch);
        }

        /** Empty if enough statements run. */
        private Map<Place, List<Caller>> takeBatch() {
            if (inFlight == IN_FLIGHT || next.isEmpty()) {
                return Map.of();
            }
            inFlight++;
            Map<Place, List<Caller>> batch = next;
            next = new LinkedHashMap<>();
            if (batch.size() > PLACES_PER_STATEMENT) {
                List<Place> rest =
                        batch.keySet().stream().skip(PLACES_PER_STATEMENT).toList();
                rest.forEach(place -> next.put(place, batch.remove(place)));
            }
            return batch;
        }

        private void send(Map<Place, List<Caller>> batch) {
            if (batch.isEmpty()) {
                return;
            }
            UUID[] projectIds = batch.keySet().stream().map(Place::projectId).toArray(UUID[]::new);
            Long[] sequenceIds = batch.keySet().stream().map(Place::sequenceId).toArray(Long[]::new);
            context.runOnContext(now -> FIND_PLACES
                    .bind("project_id", projectIds)
                    .bind("sequence_id", sequenceIds)
                    .execute(pool)
                    .subscribe()
                    .with(rows -> answer(batch, rows), failure -> fail(batch, failure)));
        }

        private void answer(Map<Place, List<Caller>> batch, RowSet<Row> rows) {
            sendNext();
            Map<Place, Found> found = new HashMap<>();
            for (Row row : rows) {
                History read = new History(row.getOffsetDateTime("server_started"), row.getLong("database_oid"));
                history = read;
                found.put(
                        new Place(row.getUUID("project_id"), row.getLong("sequence_id")),
                        new Found(
                                row.getUUID("record_id"),
                                row.getInteger("mark"),
                                row.getLong("head"),
                                row.getLong("redactions"),
                                row.getLong("horizon"),
                                row.getBoolean("here"),
                                read));
            }
            batch.forEach((place, callers) -> callers.forEach(
                    caller -> caller.context.runOnContext(now -> caller.answer.complete(found.get(place)))));
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
                batch = takeBatch();
            }
            send(batch);
        }
    }
}
