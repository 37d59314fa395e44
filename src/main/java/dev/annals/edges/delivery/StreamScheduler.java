package dev.annals.edges.delivery;

import dev.annals.access.places.Places;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.database.StateGauges;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.memory.MemoryBudget;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Finds feeds of one database's streams with records to deliver, leases them for this instance, and gives each a {@link StreamTurn}.
 *
 * <p>A lease in the database gives a feed to one instance. Each lease has a new epoch, and writes with an older epoch are rejected. An
 * instance that was frozen therefore cannot move the cursor after another one has taken over.
 */
final class StreamScheduler {

    private static final Logger LOG = Logger.getLogger(StreamScheduler.class);
    private static final Sql CLAIM_STREAMS = Sql.named("edges/delivery/claim_streams");
    private static final Sql NOTE_STREAM_DEATHS = Sql.named("edges/delivery/note_stream_deaths");
    private static final Sql RELEASE_STREAMS = Sql.named("edges/delivery/release_streams");
    private static final Sql WATCH_STREAMS = Sql.named("edges/delivery/watch_streams");
    /** A look at a stream of a hundred thousand projects takes a third of a second. Looks take at most a fifth of the time. */
    private static final int PAUSES = 4;

    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    /** Records are late by at most this. */
    private static final Duration INTERVAL = Duration.ofMillis(500);
    /** Leaves readers most connections of the pool. */
    private static final int READING = 3;
    /** Bytes of JSON, unless a single record has more. Receivers accept this much without being configured. */
    static final int BATCH_BYTES = 262_144;
    /** Bytes before compression, unless a single record has more. The object is in memory as a whole. */
    private static final int OBJECT_BYTES = 4_194_304;

    private static final Duration READ_WAIT = Duration.ofSeconds(30);
    private static final List<String> STATES = List.of("active", "failing", "paused", "stopped");
    private static final int LOOKS = 60;
    /** Until this instance has read where a project is that has just moved here. */
    private static final Duration ELSEWHERE = Duration.ofSeconds(2);

    /** A stream stops after this many instances died while they delivered it, with no record delivered in between. */
    private static final int MOST_DEATHS = 3;

    private record Feed(UUID streamId, UUID projectId) {

        static Feed of(NamedStream stream) {
            return new Feed(stream.id(), stream.projectId());
        }
    }

    private final UUID instance = UUID.randomUUID();
    private final Map<Feed, StreamTurn> running = new ConcurrentHashMap<>();
    private final Database database;
    private final Places places;
    private final Pool pool;
    private final Pool polls;
    private final FeedReader readers;
    private final boolean isHome;
    private final Bulkhead reading;
    private final MemoryBudget memory;
    private final SinkFactory sinks;
    private final StreamStore streams;
    private final Vertx vertx;
    private final DeliveryConfig config;
    private final StreamEncodings encodings;
    private final Counter delivered;
    private final Counter failures;
    private final PeriodicTask looks;
    private final StateGauges watched;
    private volatile boolean exist;
    /** Turns end after their batch, so that a suspected stream can be delivered alone. */
    private volatile boolean makesRoom;
    /** The suspected stream, alone until its sink acknowledges a record: if this instance dies, that stream is the cause. */
    private volatile @Nullable UUID alone;

    StreamScheduler(
            Database database,
            boolean isHome,
            Places places,
            FeedReader reader,
            MemoryBudget memory,
            SinkFactory sinks,
            StreamStore streams,
            Vertx vertx,
            DeliveryConfig config,
            StreamEncodings encodings,
            MeterRegistry metrics) {
        this.database = database;
        this.places = places;
        this.pool = database.reads();
        this.polls = database.polls();
        this.readers = reader;
        this.isHome = isHome;
        this.memory = memory;
        this.sinks = sinks;
        this.streams = streams;
        this.vertx = vertx;
        this.config = config;
        this.encodings = encodings;
        this.looks = new PeriodicTask(
                database.unlessIdle(this::look, () -> !exist), INTERVAL, Duration.ZERO, LOG, "Streams");
        this.reading = new Bulkhead(
                READING, config.concurrent(), READ_WAIT, "Too many streams read at a time: they try again.");
        this.delivered = Counter.builder("annals.streams.delivered.records")
                .description("Records that sinks have acknowledged to this instance")
                .register(metrics);
        this.failures = Counter.builder("annals.streams.failures")
                .description("Deliveries of this instance that failed or were refused")
                .register(metrics);
        Gauge.builder("annals.streams.delivering", running, Map::size)
                .description("Streams that this instance delivers at this moment")
                .tag("database", database.name())
                .strongReference(true)
                .register(metrics);
        this.watched = new StateGauges(
                database,
                WATCH_STREAMS,
                STATES,
                "streams",
                "Records that the stream which is farthest behind has still to pass, at the last look",
                metrics);
    }

    void start() {
        if (config.enabled()) {
            looks.start();
            watched.start(vertx, looks::stopped);
        }
    }

    /** Begins no further turns. */
    void stop() {
        looks.stop();
    }

    /** Gives all leases back. Otherwise other instances would count this one as dead. */
    Uni<Void> release() {
        looks.stop();
        if (running.isEmpty()) {
            return Uni.createFrom().voidItem();
        }
        running.values().forEach(StreamTurn::breakOff);
        return RELEASE_STREAMS.bind("instance", instance).execute(pool).replaceWithVoid();
    }

    boolean endsTurns() {
        return makesRoom || looks.stopped();
    }

    /** Never asks for another look at once: streams that are not claimed belong to another instance, or wait. */
    private Uni<Boolean> look() {
        return NOTE_STREAM_DEATHS
                .bind("instance", instance)
                .bind("most", MOST_DEATHS)
                .execute(polls)
                .map(this::suspect)
                .chain(suspect -> claim(suspect.orElse(null)));
    }

    /** A stream to deliver alone, because an instance died with it. */
    private Optional<UUID> suspect(RowSet<Row> rows) {
        UUID suspect = null;
        for (Row row : rows) {
            exist = row.getBoolean("exist");
            if (row.getUUID("id") == null) {
                break;
            }
            if (row.getString("stop_reason") == null) {
                suspect = row.getUUID("id");
            } else {
                noteFailure();
                LOG.warnf(
                        "The stream %s of project %s is stopped: %s",
                        row.getString("name"), row.getUUID("project_id"), row.getString("stop_reason"));
            }
        }
        return Optional.ofNullable(suspect);
    }

    private Uni<Boolean> claim(@Nullable UUID suspect) {
        makesRoom = suspect != null && !running.isEmpty();
        int room = suspect == null ? config.concurrent() - running.size() : 1;
        if (room <= 0 || makesRoom || alone != null) {
            return Uni.createFrom().item(false);
        }
        alone = suspect;
        long asked = System.nanoTime();
        return CLAIM_STREAMS
                .bind("instance", instance)
                .bind("lease_millis", config.lease().toMillis())
                .bind("only", suspect)
                .bind(
                        "full",
                        ofProjects().entrySet().stream()
                                .filter(project -> project.getValue() >= concurrentPerProject())
                                .map(Map.Entry::getKey)
                                .toArray(UUID[]::new))
                .bind("most", room)
                .execute(polls)
                .invoke(rows -> begin(rows, asked))
                .onTermination()
                .invoke(() -> {
                    if (running.isEmpty()) {
                        alone = null;
                    }
                })
                .chain(rows -> Uni.createFrom()
                        .item(false)
                        .onItem()
                        .delayIt()
                        .by(PeriodicTask.pause(PAUSES, asked, LONGEST_PAUSE)));
    }

    private Map<UUID, Integer> ofProjects() {
        Map<UUID, Integer> count = new LinkedHashMap<>();
        running.values().forEach(delivery -> count.merge(delivery.stream().ownerId(), 1, Integer::sum));
        return count;
    }

    private void begin(RowSet<Row> rows, long asked) {
        for (Row row : rows) {
            NamedStream stream = NamedStream.of(row);
            int ofProject = ofProjects().getOrDefault(stream.ownerId(), 0);
            StreamTurn delivery = new StreamTurn(this, pool, stream, asked, vertx, config);
            if (!isHere(stream)) {
                afterwards(delivery.defer(ELSEWHERE));
            } else if (looks.stopped()
                    || ofProject >= concurrentPerProject()
                    || running.putIfAbsent(Feed.of(stream), delivery) != null) {
                afterwards(delivery.release());
            } else {
                delivery.start();
            }
        }
    }

    private static void afterwards(Uni<Void> last) {
        last.subscribe().with(done -> {}, failure -> LOG.debug("A lease ends by itself", failure));
    }

    /** Rows of a member may name projects, or be owned by projects, that home says are in another database. */
    private boolean isHere(NamedStream stream) {
        return of(stream) == places.of(stream.projectId()) && places.of(stream.ownerId()) == database;
    }

    /** The database from which a stream reads: another one only if home's rows say that an administrator has all projects delivered. */
    private Database of(NamedStream stream) {
        return isHome && stream.allProjects() ? places.of(stream.projectId()) : database;
    }

    void ended(NamedStream stream) {
        running.remove(Feed.of(stream));
        endsAlone(stream);
    }

    private void endsAlone(NamedStream stream) {
        if (stream.id().equals(alone)) {
            alone = null;
        }
    }

    void noteDelivered(NamedStream stream, int records) {
        delivered.increment(records);
        if (records > 0) {
            endsAlone(stream);
        }
    }

    void noteFailure() {
        failures.increment();
    }

    /** As {@link SinkFactory#open}. */
    Sink open(NamedStream stream) {
        return sinks.open(database, stream);
    }

    /** Moves from a sink's event loop back to one of the service. */
    <T> Uni<T> onServiceLoop(Uni<T> answer) {
        return answer.emitOn(command -> vertx.runOnContext(ready -> command.run()));
    }

    /** Half of all: a project with slow sinks does not block the others. */
    private int concurrentPerProject() {
        return Math.max(1, config.concurrent() / 2);
    }

    /** The caller adds cursor and limit. */
    FeedQuery query(NamedStream stream) {
        return new FeedQuery(
                Order.ASCENDING,
                null,
                null,
                batchRecords(stream),
                gathers(stream) ? OBJECT_BYTES : stream.format().maxBytes(),
                streams.filter(stream));
    }

    int batchRecords(NamedStream stream) {
        return gathers(stream)
                ? config.objectRecords()
                : Math.min(config.batchRecords(), stream.format().maxRecords());
    }

    /** Whether the sink collects records into few large batches. */
    private static boolean gathers(NamedStream stream) {
        return stream.sinkType() == SinkType.S3;
    }

    /**
     * The time to wait for more records before a batch that is not full is sent.
     *
     * @param delivered the time of the last delivery or, before the first, of the stream's creation
     */
    Duration patience(NamedStream stream, Instant delivered) {
        Duration left =
                gathers(stream) ? Duration.between(Instant.now(), delivered.plus(config.objectAge())) : Duration.ZERO;
        if (left.isNegative() || left.isZero()) {
            return Duration.ZERO;
        }
        // Look again earlier: enough records may arrive to fill it.
        Duration look = config.objectAge().dividedBy(LOOKS);
        return left.compareTo(look) < 0 ? left : look;
    }

    /** Holds the memory of the stream's project until the work ends. */
    <T> Uni<T> withPage(NamedStream stream, FeedQuery query, Function<FeedPage, Uni<T>> work) {
        // The page, and the body made from it.
        return memory.take(stream.projectId(), query.memory() + 2L * query.maxBytes() + FeedQuery.LARGEST_RECORD)
                .chain(held -> reading.run(() -> encodings
                                .of(stream)
                                .chain(format -> readers.in(of(stream)).read(stream.projectId(), query.as(format))))
                        .chain(work::apply)
                        .onTermination()
                        .invoke(held::close));
    }
}
