package dev.annals.derived.log;

import dev.annals.derived.projection.Projection;
import dev.annals.derived.projection.Projector;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.Seed;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Grows the Merkle tree of each log behind its feed, from the frontier of earlier records. When a tile becomes full, it also hashes the up
 * to 255 records that began the tile again; these must lead to the frontier, which shows whether one was changed meanwhile.
 *
 * <p>A rebuild keeps seeds and tiles. It computes every tile anew, compares it with the stored one, and must pass the signed root.
 *
 * <p>A damaged log is halted ({@link LogState#halt}) and stops growing. {@link TreeReader} reads tiles, {@link Leaves} hashes records.
 */
@ApplicationScoped
public class LogTree implements Projection {

    static final String NAME = "log";

    private static final Sql MOVE_LOG = Sql.named("derived/log/move_log");
    private static final Sql DRAW_SEED = Sql.named("derived/log/draw_seed");
    private static final Sql ADD_TILE = Sql.named("derived/log/add_tile");
    private static final Sql READ_TILE_ROOTS = Sql.named("derived/log/read_tile_roots");

    /** The most tiles of a step. */
    private static final int TILES = Projector.RECORDS / Tile.WIDTH;

    private final SecureRandom random = new SecureRandom();

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
        return LogState.lock(connection, List.of(projectId)).chain(states -> {
            Growth growth = growth(projectId, sequenceId, states);
            return grow(connection, List.of(), List.of(growth)).replaceWith(growth::grownTo);
        });
    }

    /** Grows halted logs one by one: the damage of one must not fail the others. */
    @Override
    public Uni<Map<UUID, Long>> projectTogether(SqlConnection connection, Map<UUID, Long> sequenceIds) {
        return LogState.lock(connection, List.copyOf(sequenceIds.keySet())).chain(states -> {
            List<Growth> growths = sequenceIds.entrySet().stream()
                    .map(log -> growth(log.getKey(), log.getValue(), states))
                    .toList();
            return grow(
                            connection,
                            growths.stream().filter(growth -> !growth.isHalted).toList(),
                            growths.stream().filter(growth -> growth.isHalted).toList())
                    .replaceWith(() ->
                            growths.stream().collect(Collectors.toMap(growth -> growth.projectId, Growth::grownTo)));
        });
    }

    private static Growth growth(UUID projectId, long sequenceId, Map<UUID, LogState> states) {
        LogState stored = Objects.requireNonNull(states.get(projectId));
        // A dump of the data has logs, but no checkpoints of projections.
        LogState state = sequenceId == 0 ? stored.withoutTree() : stored;
        if (state.size() != sequenceId) {
            throw new IllegalStateException("the log of project " + projectId + " has " + state.size()
                    + " records, and its checkpoint is at " + sequenceId);
        }
        return new Growth(projectId, state);
    }

    /** The growth of one tree in one transaction. */
    private static final class Growth {

        final UUID projectId;
        final CompactRange tree;
        final boolean isHalted;
        private final long from;
        private final @Nullable Checkpoint signed;
        private boolean isDamaged;

        Growth(UUID projectId, LogState state) {
            this.projectId = projectId;
            this.tree = state.tree();
            this.isHalted = state.halted() != null;
            this.from = state.size();
            this.signed = state.size() < state.signedSize() ? state.checkpoint() : null;
        }

        long grownTo() {
            return isDamaged ? from : tree.end();
        }

        Leaves.Range restOfTile(TileSeed seed) {
            return new Leaves.Range(projectId, tree.end(), tileEnd(), seed);
        }

        long tile() {
            return tree.end() / Tile.WIDTH;
        }

        long tileStart() {
            return tile() * Tile.WIDTH;
        }

        long tileEnd() {
            return tileStart() + Tile.WIDTH;
        }

        /** The records that began the tile must still lead to the frontier. */
        void requireUnchanged(Leaves begun) {
            List<Hash> known = tree.hashes();
            List<Hash> computed = begun.range().hashes();
            if (begun.end() != tree.end()
                    || !known.subList(known.size() - computed.size(), known.size())
                            .equals(computed)) {
                throw new DamagedLog("the records with the sequence ids " + (begun.start() + 1) + " to " + tree.end()
                        + " are not those that were taken into the tree");
            }
        }

        void append(Leaves next) {
            for (Hash entry : next.entries()) {
                tree.append(entry.leaf());
                if (signed != null
                        && tree.end() == signed.size()
                        && !tree.root().equals(signed.root())) {
                    throw new DamagedLog("the tree of " + tree.end() + " records has the root " + tree.root()
                            + ", and the signed one " + signed.root());
                }
            }
        }
    }

    /**
     * @param together if one of these is damaged, all fail
     * @param alone if one of these is damaged, it is halted
     */
    private Uni<Void> grow(SqlConnection connection, List<Growth> together, List<Growth> alone) {
        return growTogether(connection, together)
                .chain(() -> inTurn(
                        alone,
                        growth -> growOn(connection, growth, TILES)
                                .onFailure(DamagedLog.class)
                                .recoverWithUni(damage -> {
                                    growth.isDamaged = true;
                                    return LogState.halt(connection, growth.projectId, damage.finding());
                                })))
                .chain(() -> move(
                        connection,
                        Stream.concat(together.stream(), alone.stream())
                                .filter(growth -> growth.grownTo() > growth.from)
                                .toList()));
    }

    /** Reads the rest of all last tiles by one statement. */
    private Uni<Void> growTogether(SqlConnection connection, List<Growth> growths) {
        if (growths.isEmpty()) {
            return Uni.createFrom().voidItem();
        }
        return seeds(connection, growths)
                .chain(seeds -> Leaves.read(
                                connection,
                                growths.stream()
                                        .map(growth ->
                                                growth.restOfTile(Objects.requireNonNull(seeds.get(growth.projectId))))
                                        .toList())
                        .chain(leaves -> inTurn(
                                growths,
                                growth -> takeIn(
                                        connection,
                                        growth,
                                        Objects.requireNonNull(seeds.get(growth.projectId)),
                                        Objects.requireNonNull(leaves.get(growth.projectId)),
                                        TILES))));
    }

    private Uni<Void> growOn(SqlConnection connection, Growth growth, int tilesLeft) {
        return seed(connection, growth.projectId, growth.tile())
                .chain(seed -> Leaves.read(connection, growth.projectId, growth.tree.end(), growth.tileEnd(), seed)
                        .chain(next -> takeIn(connection, growth, seed, next, tilesLeft)));
    }

    /** Adds the next records of a tile. If they fill it, stores it and continues with the next one. */
    private Uni<Void> takeIn(SqlConnection connection, Growth growth, TileSeed seed, Leaves next, int tilesLeft) {
        if (next.end() < growth.tileEnd()) {
            growth.append(next);
            return Uni.createFrom().voidItem();
        }
        long tile = growth.tile();
        return begun(connection, growth, seed)
                .invoke(growth::requireUnchanged)
                .chain(begun -> {
                    CompactRange before = CompactRange.of(0, growth.tree.end(), growth.tree.hashes());
                    growth.append(next);
                    return addTiles(connection, growth.projectId, tile, begun.and(next), before);
                })
                .chain(() -> tilesLeft > 1
                        ? growOn(connection, growth, tilesLeft - 1)
                        : Uni.createFrom().voidItem());
    }

    private static <T> Uni<Void> inTurn(List<T> all, Function<T, Uni<Void>> each) {
        return Multi.createFrom()
                .iterable(all)
                .onItem()
                .transformToUniAndConcatenate(one -> each.apply(one).replaceWith(true))
                .collect()
                .last()
                .replaceWithVoid();
    }

    /**
     * The entries of the last tile, which is not full.
     *
     * @param connection in a transaction that holds the checkpoint
     */
    public Uni<Buffer> lastTileEntries(SqlConnection connection, UUID projectId) {
        return LogState.lock(connection, List.of(projectId)).chain(states -> {
            Growth growth = new Growth(projectId, Objects.requireNonNull(states.get(projectId)));
            long size = growth.tree.end();
            return seed(connection, projectId, growth.tile())
                    .chain(seed -> Leaves.read(connection, projectId, growth.tileStart(), size, seed))
                    .invoke(growth::requireUnchanged)
                    .map(begun -> {
                        Buffer bytes = Buffer.buffer();
                        begun.entries().forEach(entry -> bytes.appendBytes(entry.bytes()));
                        return bytes;
                    });
        });
    }

    private static Uni<Leaves> begun(SqlConnection connection, Growth growth, TileSeed seed) {
        return growth.tileStart() == growth.tree.end()
                ? Uni.createFrom().item(new Leaves(growth.tileStart(), List.of()))
                : Leaves.read(connection, growth.projectId, growth.tileStart(), growth.tree.end(), seed);
    }

    private Uni<TileSeed> seed(SqlConnection connection, UUID projectId, long tile) {
        return seeds(connection, new UUID[] {projectId}, new Long[] {tile})
                .map(seeds -> Objects.requireNonNull(seeds.get(projectId)));
    }

    private Uni<Map<UUID, TileSeed>> seeds(SqlConnection connection, List<Growth> growths) {
        return seeds(
                connection,
                growths.stream().map(growth -> growth.projectId).toArray(UUID[]::new),
                growths.stream().map(Growth::tile).toArray(Long[]::new));
    }

    private Uni<Map<UUID, TileSeed>> seeds(SqlConnection connection, UUID[] projectIds, Long[] tiles) {
        return DRAW_SEED
                .bind("project_id", projectIds)
                .bind("tile", tiles)
                .bind(
                        "seed",
                        Stream.generate(this::drawn).limit(projectIds.length).toArray(Buffer[]::new))
                .execute(connection)
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .collect(Collectors.toMap(
                                row -> row.getUUID("project_id"),
                                row -> TileSeed.of(row.getBuffer("seed").getBytes()))));
    }

    private Buffer drawn() {
        byte[] drawn = new byte[Seed.BYTES];
        random.nextBytes(drawn);
        return Buffer.buffer(drawn);
    }

    private static Uni<Void> move(SqlConnection connection, List<Growth> growths) {
        return growths.isEmpty()
                ? Uni.createFrom().voidItem()
                : move(
                        connection,
                        growths.stream().map(growth -> growth.projectId).toArray(UUID[]::new),
                        growths.stream().map(Growth::grownTo).toArray(Long[]::new),
                        growths.stream()
                                .map(growth -> Buffer.buffer(growth.tree.bytes()))
                                .toArray(Buffer[]::new));
    }

    private static Uni<Void> move(SqlConnection connection, UUID[] projectIds, Long[] sizes, Buffer[] frontiers) {
        return MOVE_LOG.bind("project_id", projectIds)
                .bind("size", sizes)
                .bind("frontier", frontiers)
                .execute(connection)
                .replaceWithVoid();
    }

    /**
     * Stores a tile of level 0, and the tiles above that it fills.
     *
     * @param before the tree before this tile was full
     */
    private static Uni<Void> addTiles(
            SqlConnection connection, UUID projectId, long tile, Leaves leaves, CompactRange before) {
        Hash root = leaves.range().hashes().get(0);
        return addTile(connection, projectId, 0, tile, root, leaves.entries())
                .chain(() -> addAbove(connection, projectId, 1, tile + 1, before));
    }

    /** @param below the number of tiles of the level below */
    private static Uni<Void> addAbove(
            SqlConnection connection, UUID projectId, int level, long below, CompactRange before) {
        if (below % Tile.WIDTH != 0) {
            return Uni.createFrom().voidItem();
        }
        long tile = below / Tile.WIDTH - 1;
        return roots(connection, projectId, level - 1, tile * Tile.WIDTH, below - 1)
                .chain(hashes -> {
                    TreeReader.requireRoots(before, level, tile * Tile.WIDTH, hashes);
                    CompactRange range = CompactRange.at(0);
                    hashes.forEach(range::append);
                    return addTile(connection, projectId, level, tile, range.root(), hashes)
                            .chain(() -> addAbove(connection, projectId, level + 1, tile + 1, before));
                });
    }

    private static Uni<List<Hash>> roots(SqlConnection connection, UUID projectId, int level, long first, long last) {
        return READ_TILE_ROOTS
                .bind("project_id", projectId)
                .bind("level", level)
                .bind("first", first)
                .bind("last", last)
                .execute(connection)
                .map(rows -> {
                    if (rows.size() != last - first + 1) {
                        throw new DamagedLog("of the tiles " + first + " to " + last + " of level " + level
                                + " there are only " + rows.size());
                    }
                    return StreamSupport.stream(rows.spliterator(), false)
                            .map(row -> Hash.at(row.getBuffer("root").getBytes(), 0))
                            .toList();
                });
    }

    private static Uni<Void> addTile(
            SqlConnection connection, UUID projectId, int level, long tile, Hash root, List<Hash> hashes) {
        Buffer bytes = Buffer.buffer(Tile.WIDTH * Hash.BYTES);
        hashes.forEach(hash -> bytes.appendBytes(hash.bytes()));
        return ADD_TILE.bind("project_id", projectId)
                .bind("level", level)
                .bind("tile", tile)
                .bind("root", Buffer.buffer(root.bytes()))
                .bind("hashes", bytes)
                .execute(connection)
                .invoke(other -> {
                    if (other.size() > 0) {
                        throw new DamagedLog("tile " + tile + " of level " + level
                                + " is not the one that follows from the records");
                    }
                })
                .replaceWithVoid();
    }

    /** Keeps tiles and seeds, which a rebuild compares. */
    @Override
    public Uni<Void> reset(SqlConnection connection, UUID projectId) {
        return LogState.lock(connection, List.of(projectId))
                .chain(states ->
                        move(connection, new UUID[] {projectId}, new Long[] {0L}, new Buffer[] {Buffer.buffer()}));
    }
}
