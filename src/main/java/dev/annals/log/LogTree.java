package dev.annals.log;

import dev.annals.database.Sql;
import dev.annals.projection.Projection;
import dev.annals.projection.ProjectionConfig;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.Seed;
import dev.annals.proof.Tile;
import dev.annals.proof.TileSeed;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.security.SecureRandom;
import java.util.List;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Grows the tree of each log behind its feed: a projection. What it needs of the records before is the frontier, and, where a
 * tile becomes full, the up to 255 records that began it. These are hashed once more then, and have to lead to the same
 * frontier: so a record that was changed meanwhile is noticed.
 *
 * <p>Seeds and tiles stay where they are in a rebuild, which computes every tile anew and compares it, and has to come by the
 * root that was signed last.
 */
@ApplicationScoped
public class LogTree implements Projection {

    /** The projection's name in the database. */
    static final String NAME = "log";

    private static final Logger LOG = Logger.getLogger(LogTree.class);
    private static final Sql LOCK_LOG = Sql.named("lock_log");
    private static final Sql BEGIN_LOG = Sql.named("begin_log");
    private static final Sql MOVE_LOG = Sql.named("move_log");
    private static final Sql HALT_LOG = Sql.named("halt_log");
    private static final Sql DRAW_SEED = Sql.named("draw_seed");
    private static final Sql ADD_TILE = Sql.named("add_tile");
    private static final Sql READ_TILE_ROOTS = Sql.named("read_tile_roots");

    private final SecureRandom random = new SecureRandom();
    private final int tiles;

    @Inject
    LogTree(ProjectionConfig projections) {
        this(projections.records());
    }

    /** @param records how many a step takes in, about */
    LogTree(int records) {
        this.tiles = Math.max(1, records / Tile.WIDTH);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
        return lock(connection, projectId).chain(stored -> {
            // A dump of the data alone brings no checkpoints of projections.
            LogState state = sequenceId == 0 ? stored.withoutTree() : stored;
            if (state.size() != sequenceId) {
                throw new IllegalStateException("the log of project " + projectId + " has " + state.size()
                        + " records, and its checkpoint is at " + sequenceId);
            }
            return grow(connection, new Growth(projectId, state), tiles)
                    .onFailure(DamagedLog.class)
                    .recoverWithUni(damage ->
                            halt(connection, projectId, damage.finding()).replaceWith(sequenceId));
        });
    }

    /** Takes the state of a log for the transaction; makes it where there is none. */
    static Uni<LogState> lock(SqlConnection connection, UUID projectId) {
        return read(connection, projectId).chain(state -> {
            if (state != null) {
                return Uni.createFrom().item(state);
            }
            return BEGIN_LOG
                    .bind("project_id", projectId)
                    .execute(connection)
                    .chain(() -> read(connection, projectId))
                    .onItem()
                    .ifNull()
                    .failWith(() -> new IllegalStateException("project " + projectId + " has no log"));
        });
    }

    private static Uni<@Nullable LogState> read(SqlConnection connection, UUID projectId) {
        return LOCK_LOG.bind("project_id", projectId).execute(connection).map(LogState::of);
    }

    /** Halts a log in the caller's transaction, and says so. */
    static Uni<Void> halt(SqlConnection connection, UUID projectId, String reason) {
        return HALT_LOG.bind("project_id", projectId)
                .bind("reason", reason)
                .execute(connection)
                .invoke(rows -> {
                    if (rows.rowCount() > 0) {
                        LOG.errorf(
                                "The log of project %s is halted: %s. Nothing is signed for it until an operator has"
                                        + " looked at it; appending goes on",
                                projectId, reason);
                    }
                })
                .replaceWithVoid();
    }

    /** A tree that grows in one transaction. */
    private static final class Growth {

        final UUID projectId;
        final CompactRange tree;
        private final @Nullable Checkpoint signed;

        Growth(UUID projectId, LogState state) {
            this.projectId = projectId;
            this.tree = state.tree();
            this.signed = state.size() < state.signedSize() ? state.checkpoint() : null;
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

        /** Whether these are the leaves since the tile's first one that the tree has already. */
        void requireKnown(Leaves begun) {
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

    private Uni<Long> grow(SqlConnection connection, Growth growth, int tilesLeft) {
        long from = growth.tree.end();
        long tile = growth.tile();
        long start = growth.tileStart();
        long end = growth.tileEnd();
        return seed(connection, growth.projectId, tile)
                .chain(seed -> Leaves.read(connection, growth.projectId, from, end, seed)
                        .chain(next -> {
                            if (next.end() < end) {
                                growth.append(next);
                                return Uni.createFrom().item(false);
                            }
                            return begun(connection, growth, start, from, seed)
                                    .invoke(growth::requireKnown)
                                    .chain(begun -> {
                                        growth.append(next);
                                        return addTiles(connection, growth.projectId, tile, begun.and(next));
                                    })
                                    .replaceWith(true);
                        }))
                .chain(full ->
                        full && tilesLeft > 1 ? grow(connection, growth, tilesLeft - 1) : move(connection, growth));
    }

    /**
     * The entries of the last tile, which is not full: those of all its records that have been taken in.
     *
     * @param connection in a transaction that holds the checkpoint
     */
    public Uni<Buffer> begunEntries(SqlConnection connection, UUID projectId) {
        return lock(connection, projectId).chain(state -> {
            Growth growth = new Growth(projectId, state);
            long size = growth.tree.end();
            return seed(connection, projectId, growth.tile())
                    .chain(seed -> Leaves.read(connection, projectId, growth.tileStart(), size, seed))
                    .invoke(growth::requireKnown)
                    .map(begun -> {
                        Buffer bytes = Buffer.buffer();
                        begun.entries().forEach(entry -> bytes.appendBytes(entry.bytes()));
                        return bytes;
                    });
        });
    }

    private static Uni<Leaves> begun(SqlConnection connection, Growth growth, long start, long from, TileSeed seed) {
        return start == from
                ? Uni.createFrom().item(new Leaves(start, List.of()))
                : Leaves.read(connection, growth.projectId, start, from, seed);
    }

    private Uni<TileSeed> seed(SqlConnection connection, UUID projectId, long tile) {
        byte[] drawn = new byte[Seed.BYTES];
        random.nextBytes(drawn);
        return DRAW_SEED
                .bind("project_id", projectId)
                .bind("tile", tile)
                .bind("seed", Buffer.buffer(drawn))
                .execute(connection)
                .map(rows ->
                        TileSeed.of(rows.iterator().next().getBuffer("seed").getBytes()));
    }

    private static Uni<Long> move(SqlConnection connection, Growth growth) {
        return MOVE_LOG.bind("project_id", growth.projectId)
                .bind("size", growth.tree.end())
                .bind("frontier", Buffer.buffer(growth.tree.bytes()))
                .execute(connection)
                .map(rows -> growth.tree.end());
    }

    /** Stores a tile of level 0, and those above it that it fills. */
    private static Uni<Void> addTiles(SqlConnection connection, UUID projectId, long tile, Leaves leaves) {
        Hash root = leaves.range().hashes().get(0);
        return addTile(connection, projectId, 0, tile, root, leaves.entries())
                .chain(() -> addAbove(connection, projectId, 1, tile + 1));
    }

    /** @param below how many tiles the level below has */
    private static Uni<Void> addAbove(SqlConnection connection, UUID projectId, int level, long below) {
        if (below % Tile.WIDTH != 0) {
            return Uni.createFrom().voidItem();
        }
        long tile = below / Tile.WIDTH - 1;
        return roots(connection, projectId, level - 1, tile * Tile.WIDTH, below - 1)
                .chain(hashes -> {
                    CompactRange range = CompactRange.at(0);
                    hashes.forEach(range::append);
                    return addTile(connection, projectId, level, tile, range.root(), hashes)
                            .chain(() -> addAbove(connection, projectId, level + 1, tile + 1));
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

    /** Tiles and seeds stay; they are compared with when they are computed anew. */
    @Override
    public Uni<Void> reset(SqlConnection connection, UUID projectId) {
        return lock(connection, projectId)
                .chain(state -> MOVE_LOG.bind("project_id", projectId)
                        .bind("size", 0L)
                        .bind("frontier", Buffer.buffer())
                        .execute(connection))
                .replaceWithVoid();
    }
}
