package dev.annals.derived.log;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.derived.proof.Tile;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.proof.Hash;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Tiles that were read in the last seconds. Readers need above all the last one, which is not stored: its records are hashed on demand,
 * each record once for all readers, and at most {@value #HASHED_AT_A_TIME} tiles at a time. Thread-safe.
 *
 * <p>A tile never changes, unless the database was changed outside the service. If hashes do not match, {@link Checkpoints#haltIfDamaged}
 * reads them again without the cache before it reports damage.
 */
@ApplicationScoped
class TileCache {

    private static final Duration AGE = Duration.ofSeconds(10);
    /** Roughly. */
    private static final int HASH_BYTES = 64;

    /** Enough for the last tiles of some thousand logs, more than readers ask for within {@link #AGE}. */
    private static final long MAX_BYTES = 8_388_608;

    private static final int HASHED_AT_A_TIME = 2;
    private static final int WAITING = 1_000;
    private static final Duration MAX_WAIT = Duration.ofSeconds(10);

    private final Cache<Place, Hashes> tiles;
    private final Bulkhead hashing = new Bulkhead(
            HASHED_AT_A_TIME,
            WAITING,
            MAX_WAIT,
            "Too many ends of logs are being hashed. Send the request again later.");

    private final Counter hashed;

    @Inject
    TileCache(MeterRegistry metrics) {
        this(MAX_BYTES, metrics);
    }

    private TileCache(long bytes, MeterRegistry metrics) {
        this.hashed = Counter.builder("annals.log.hashed.records")
                .description("Records at the ends of logs that were hashed for readers")
                .register(metrics);
        this.tiles = Caffeine.newBuilder()
                .maximumWeight(bytes)
                .<Place, Hashes>weigher((place, tile) -> tile.width * HASH_BYTES)
                .expireAfterWrite(AGE)
                .build();
    }

    static TileCache none() {
        return new TileCache(0, new SimpleMeterRegistry());
    }

    private record Place(UUID projectId, boolean entries, int level, long index) {}

    /** The first {@code width} hashes of a tile. */
    private record Hashes(int width, Uni<List<Hash>> hashes) {}

    /** At least as many hashes as the tile is wide; null if they are not cached. */
    @Nullable
    Uni<List<Hash>> find(UUID projectId, boolean entries, Tile tile) {
        Hashes known = tiles.getIfPresent(new Place(projectId, entries, tile.level(), tile.index()));
        return known == null || known.width < tile.width() ? null : onCallersContext(known.hashes);
    }

    void put(UUID projectId, boolean entries, int level, long index, List<Hash> hashes) {
        tiles.put(
                new Place(projectId, entries, level, index),
                new Hashes(hashes.size(), Uni.createFrom().item(hashes)));
    }

    /** The hashes of a tile that is not stored. Callers share one read. */
    Uni<List<Hash>> partial(UUID projectId, Tile tile, Supplier<Uni<List<Hash>>> read) {
        return shared(projectId, false, tile, before -> read.get());
    }

    /**
     * The entries of a tile that is not stored. Callers share hashed records.
     *
     * @param hash hashes the records of the tile after the given number
     */
    Uni<List<Hash>> partialEntries(UUID projectId, Tile tile, LongFunction<Uni<List<Hash>>> hash) {
        return shared(
                projectId,
                true,
                tile,
                before -> before == null
                        ? hashed(hash, 0)
                        : before.hashes.chain(begun -> hashed(hash, before.width)
                                .map(rest -> Stream.concat(begun.stream(), rest.stream())
                                        .toList())));
    }

    private Uni<List<Hash>> hashed(LongFunction<Uni<List<Hash>>> hash, long begun) {
        return hashing.run(() -> hash.apply(begun)).invoke(entries -> hashed.increment(entries.size()));
    }

    private interface Reading {
        Uni<List<Hash>> from(@Nullable Hashes before);
    }

    private Uni<List<Hash>> shared(UUID projectId, boolean entries, Tile tile, Reading reading) {
        return onCallersContext(tiles.asMap()
                .compute(new Place(projectId, entries, tile.level(), tile.index()), (place, before) -> {
                    if (before != null && before.width >= tile.width()) {
                        return before;
                    }
                    return new Hashes(
                            tile.width(),
                            // deferred: a read may use the cache, which must not happen within compute()
                            Uni.createFrom()
                                    .deferred(() -> reading.from(before))
                                    .onFailure()
                                    .invoke(() -> tiles.asMap()
                                            .computeIfPresent(
                                                    place,
                                                    (same, failed) -> failed.width == tile.width() ? null : failed))
                                    .memoize()
                                    .indefinitely());
                })
                .hashes);
    }

    /** Emits on the caller's context, though another caller's read gave the hashes. */
    private static <T> Uni<T> onCallersContext(Uni<T> hashes) {
        Context context = Vertx.currentContext();
        return context == null ? hashes : hashes.emitOn(work -> context.runOnContext(now -> work.run()));
    }

    void forget(UUID projectId) {
        tiles.asMap().keySet().removeIf(place -> place.projectId.equals(projectId));
    }
}
