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
 * Tiles that were read a moment ago. Readers of a log need the same tiles again and again: those around the pages of a walk,
 * and above all the last one, which is not stored. Its records are hashed when somebody asks for it: each record once for all
 * who ask, and only a few tiles at a time. Safe for any thread.
 *
 * <p>A tile says the same for ever, unless somebody changes the database. So where hashes do not fit, they are forgotten and read
 * once more before anybody is told ({@link Checkpoints#guarded}).
 */
@ApplicationScoped
class TileCache {

    private static final Duration KEPT = Duration.ofSeconds(10);
    /** What a hash takes in memory, about. */
    private static final int HASH_BYTES = 64;

    /** Enough for the ends of some thousand logs, which are all that readers ask for within {@link #KEPT}. */
    private static final long KEPT_BYTES = 8_388_608;

    private static final int HASHED_AT_A_TIME = 2;
    private static final int WAITING = 1_000;
    private static final Duration MAX_WAIT = Duration.ofSeconds(10);

    private final Cache<Place, Kept> kept;
    private final Bulkhead hashing = new Bulkhead(
            HASHED_AT_A_TIME,
            WAITING,
            MAX_WAIT,
            "Too many ends of logs are being hashed. Send the request again later.");

    private final Counter hashed;

    @Inject
    TileCache(MeterRegistry metrics) {
        this(KEPT_BYTES, metrics);
    }

    private TileCache(long bytes, MeterRegistry metrics) {
        this.hashed = Counter.builder("annals.log.hashed.records")
                .description("Records at the ends of logs that were hashed for readers")
                .register(metrics);
        this.kept = Caffeine.newBuilder()
                .maximumWeight(bytes)
                .<Place, Kept>weigher((place, tile) -> tile.width * HASH_BYTES)
                .expireAfterWrite(KEPT)
                .build();
    }

    /** For one who must see what is in the database now. */
    static TileCache none() {
        return new TileCache(0, new SimpleMeterRegistry());
    }

    private record Place(UUID projectId, boolean entries, int level, long index) {}

    /** The first hashes of a tile, or all. */
    private record Kept(int width, Uni<List<Hash>> hashes) {}

    /** The hashes of a tile, at least as many as it is wide; null if they have to be read. */
    @Nullable
    Uni<List<Hash>> find(UUID projectId, boolean entries, Tile tile) {
        Kept known = kept.getIfPresent(new Place(projectId, entries, tile.level(), tile.index()));
        return known == null || known.width < tile.width() ? null : here(known.hashes);
    }

    /** Keeps a whole tile. */
    void put(UUID projectId, boolean entries, int level, long index, List<Hash> hashes) {
        kept.put(
                new Place(projectId, entries, level, index),
                new Kept(hashes.size(), Uni.createFrom().item(hashes)));
    }

    /** Those of a tile that is not stored, which only the first one who asks reads. */
    Uni<List<Hash>> partial(UUID projectId, Tile tile, Supplier<Uni<List<Hash>>> read) {
        return shared(projectId, false, tile, before -> read.get());
    }

    /**
     * The entries of a tile that is not stored. Those that another one has got by hashing records are not hashed again.
     *
     * @param hash hashes the tile's records behind the first ones, so many
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
        Uni<List<Hash>> from(@Nullable Kept before);
    }

    private Uni<List<Hash>> shared(UUID projectId, boolean entries, Tile tile, Reading reading) {
        return here(kept.asMap()
                .compute(new Place(projectId, entries, tile.level(), tile.index()), (place, before) -> {
                    if (before != null && before.width >= tile.width()) {
                        return before;
                    }
                    return new Kept(
                            tile.width(),
                            // What is read may lead back to the cache, which must not happen within this.
                            Uni.createFrom()
                                    .deferred(() -> reading.from(before))
                                    .onFailure()
                                    .invoke(() -> kept.asMap()
                                            .computeIfPresent(
                                                    place,
                                                    (same, failed) -> failed.width == tile.width() ? null : failed))
                                    .memoize()
                                    .indefinitely());
                })
                .hashes);
    }

    /** Answers on the context of who asks, whoever has read. */
    private static <T> Uni<T> here(Uni<T> hashes) {
        Context context = Vertx.currentContext();
        return context == null ? hashes : hashes.emitOn(work -> context.runOnContext(now -> work.run()));
    }

    /** Forgets what was read of a log. */
    void forget(UUID projectId) {
        kept.asMap().keySet().removeIf(place -> place.projectId.equals(projectId));
    }
}
