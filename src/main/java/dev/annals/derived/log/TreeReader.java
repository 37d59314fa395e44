package dev.annals.derived.log;

import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.Node;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlClient;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.StreamSupport;

/**
 * Reads parts of a log's tree. Full tiles are stored. The last tile of a level follows from the roots of the tiles below it, or, on level
 * 0, from at most 255 records.
 */
final class TreeReader {

    private static final Sql READ_TILES = Sql.named("derived/log/read_tiles");
    private static final Sql READ_TILE_ROOTS = Sql.named("derived/log/read_tile_roots");
    private static final Sql READ_SEEDS = Sql.named("derived/log/read_seeds");

    private final SqlClient client;
    private final UUID projectId;

    private final TileCache cache;

    TreeReader(SqlClient client, UUID projectId) {
        this(client, projectId, TileCache.none());
    }

    TreeReader(SqlClient client, UUID projectId, TileCache cache) {
        this.client = client;
        this.projectId = projectId;
        this.cache = cache;
    }

    private record Place(int level, long index) {

        static Place of(Tile tile) {
            return new Place(tile.level(), tile.index());
        }
    }

    private record Tiles(Map<Place, List<Hash>> tiles) implements Function<Node, Hash> {

        @Override
        public Hash apply(Node node) {
            int height = node.height() % Tile.HEIGHT;
            long first = node.index() << height;
            List<Hash> tile = tiles.getOrDefault(new Place(node.height() / Tile.HEIGHT, first / Tile.WIDTH), List.of());
            int from = (int) (first % Tile.WIDTH);
            int to = from + (1 << height);
            if (to > tile.size()) {
                throw new DamagedLog("the hash of the records with the sequence ids " + (node.start() + 1) + " to "
                        + node.end() + " is missing");
            }
            CompactRange range = CompactRange.at(0);
            tile.subList(from, to).forEach(range::append);
            return range.root();
        }
    }

    /**
     * The hashes of some parts of a tree.
     *
     * @param size at most the number of records in the tree
     * @return fails with {@link DamagedLog} if a hash is missing
     */
    Uni<List<Hash>> hashes(List<MerkleTree.Part> parts, long size) {
        return nodes(parts.stream().flatMap(part -> part.nodes().stream()).toList(), size)
                .map(tree -> parts.stream().map(part -> part.hash(tree)).toList());
    }

    /**
     * An older tree that a newer one begins with.
     *
     * @param root of the older tree
     * @param proof of consistency, as RFC 6962 has it
     */
    record Consistency(Hash root, List<Hash> proof) {}

    /**
     * Proves that a tree begins with an older one of {@code size} records.
     *
     * @return fails with {@link DamagedLog} if the stored tiles do not prove it
     */
    Uni<Consistency> consistency(long size, Checkpoint newer) {
        List<MerkleTree.Part> parts = new ArrayList<>(MerkleTree.consistency(size, newer.size()));
        parts.add(MerkleTree.whole(size));
        return hashes(parts, newer.size()).map(hashes -> {
            Hash root = hashes.get(hashes.size() - 1);
            List<Hash> proof = hashes.subList(0, hashes.size() - 1);
            if (!MerkleTree.isConsistent(size, root, newer.size(), newer.root(), proof)) {
                throw new DamagedLog("the tree of " + newer.size() + " records does not begin with that of " + size);
            }
            return new Consistency(root, proof);
        });
    }

    Uni<Hash> root(long size) {
        return hashes(List.of(MerkleTree.whole(size)), size).map(hashes -> hashes.get(0));
    }

    /**
     * Some nodes of a tree of {@code size} leaves.
     *
     * @param size the number of leaves
     */
    Uni<Function<Node, Hash>> nodes(Collection<Node> nodes, long size) {
        Set<Tile> wanted = new LinkedHashSet<>();
        nodes.forEach(node -> wanted.add(Tile.of(node, size)));
        return tiles(wanted).map(tiles -> tiles);
    }

    private Uni<Tiles> tiles(Set<Tile> wanted) {
        return Uni.createFrom().deferred(() -> {
            Map<Place, Uni<List<Hash>>> reads = new LinkedHashMap<>();
            List<Tile> unknown = new ArrayList<>();
            for (Tile tile : wanted) {
                Uni<List<Hash>> known = cache.find(projectId, false, tile);
                reads.put(Place.of(tile), known == null ? partial(tile) : known);
                if (known == null) {
                    unknown.add(tile);
                }
            }
            return full(unknown)
                    .chain(stored -> {
                        stored.forEach((place, hashes) -> {
                            cache.put(projectId, false, place.level(), place.index(), hashes);
                            reads.put(place, Uni.createFrom().item(hashes));
                        });
                        return Multi.createFrom()
                                .iterable(reads.entrySet())
                                .onItem()
                                .transformToUniAndConcatenate(
                                        read -> read.getValue().map(hashes -> Map.entry(read.getKey(), hashes)))
                                .collect()
                                .asMap(Map.Entry::getKey, Map.Entry::getValue);
                    })
                    .map(Tiles::new);
        });
    }

    private Uni<Map<Place, List<Hash>>> full(List<Tile> wanted) {
        if (wanted.isEmpty()) {
            return Uni.createFrom().item(Map.of());
        }
        return READ_TILES
                .bind("project_id", projectId)
                .bind("level", wanted.stream().map(Tile::level).toArray(Integer[]::new))
                .bind("tile", wanted.stream().map(Tile::index).toArray(Long[]::new))
                .execute(client)
                .map(rows -> {
                    Map<Place, List<Hash>> tiles = new HashMap<>();
                    for (Row row : rows) {
                        int level = row.getInteger("level");
                        long tile = row.getLong("tile");
                        List<Hash> hashes = level == 0 ? leaves(hashes(row)) : hashes(row);
                        requireRoot(row, level, tile, hashes);
                        tiles.put(new Place(level, tile), hashes);
                    }
                    return tiles;
                });
    }

    private static List<Hash> hashes(Row row) {
        byte[] bytes = row.getBuffer("hashes").getBytes();
        List<Hash> hashes = new ArrayList<>(Tile.WIDTH);
        for (int at = 0; at < bytes.length; at += Hash.BYTES) {
            hashes.add(Hash.at(bytes, at));
        }
        return hashes;
    }

    private static void requireRoot(Row row, int level, long tile, List<Hash> hashes) {
        CompactRange range = CompactRange.at(0);
        hashes.forEach(range::append);
        if (!range.root().equals(Hash.at(row.getBuffer("root").getBytes(), 0))) {
            throw new DamagedLog("tile " + tile + " of level " + level
                    + " is damaged: its stored root does not follow from its hashes");
        }
    }

    /**
     * Checks the stored roots from which the last tiles above level 0 follow.
     *
     * @return fails with {@link DamagedLog} if one is missing or does not lead to the tree
     */
    Uni<Void> requireRoots(CompactRange tree) {
        return Multi.createFrom()
                .range(1, Tile.LEVELS)
                .filter(level -> (tree.end() >> (Tile.HEIGHT * level)) % Tile.WIDTH > 0)
                .onItem()
                .transformToUniAndConcatenate(level -> {
                    long above = tree.end() >> (Tile.HEIGHT * level);
                    return roots(Tile.in(tree.end(), level, above / Tile.WIDTH))
                            .invoke(roots -> requireRoots(tree, level, above / Tile.WIDTH * Tile.WIDTH, roots));
                })
                .collect()
                .last()
                .replaceWithVoid();
    }

    /**
     * Checks one level.
     *
     * @param roots of the tiles below the last tile of the level, from the tile {@code first} on
     */
    static void requireRoots(CompactRange tree, int level, long first, List<Hash> roots) {
        List<Node> nodes = Node.covering(0, tree.end());
        long at = 0;
        for (int i = 0; i < nodes.size(); i++) {
            int height = nodes.get(i).height() - Tile.HEIGHT * level;
            if (height < 0 || height >= Tile.HEIGHT) {
                continue;
            }
            long end = at + (1L << height);
            CompactRange range = CompactRange.at(0);
            roots.stream().limit(end).skip(at).forEach(range::append);
            if (roots.size() < end || !range.root().equals(tree.hashes().get(i))) {
                throw new DamagedLog("the tiles " + (first + at) + " to " + (first + end - 1) + " of level "
                        + (level - 1) + " are damaged: their stored roots do not match the tree");
            }
            at = end;
        }
    }

    private static List<Hash> leaves(List<Hash> entries) {
        return entries.stream().map(Hash::leaf).toList();
    }

    private Uni<List<Hash>> partial(Tile tile) {
        return Uni.createFrom()
                .deferred(() -> cache.partial(
                        projectId,
                        tile,
                        () -> tile.level() == 0 ? entries(tile).map(TreeReader::leaves) : roots(tile)));
    }

    private Uni<List<Hash>> roots(Tile tile) {
        return READ_TILE_ROOTS
                .bind("project_id", projectId)
                .bind("level", tile.level() - 1)
                .bind("first", tile.index() * Tile.WIDTH)
                .bind("last", tile.index() * Tile.WIDTH + tile.width() - 1)
                .execute(client)
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .map(row -> Hash.at(row.getBuffer("root").getBytes(), 0))
                        .toList());
    }

    Uni<List<Hash>> tile(Tile tile) {
        return tiles(Set.of(tile)).map(tiles -> cut(tiles.tiles().getOrDefault(Place.of(tile), List.of()), tile));
    }

    /** The entries of a tile of level 0: an entry bundle. */
    Uni<List<Hash>> bundle(Tile tile) {
        return Uni.createFrom()
                .deferred(() -> {
                    Uni<List<Hash>> known = cache.find(projectId, true, tile);
                    return known == null ? stored(tile) : known;
                })
                .map(entries -> cut(entries, tile));
    }

    private Uni<List<Hash>> stored(Tile tile) {
        return READ_TILES
                .bind("project_id", projectId)
                .bind("level", new Integer[] {0})
                .bind("tile", new Long[] {tile.index()})
                .execute(client)
                .chain(rows -> {
                    for (Row row : rows) {
                        List<Hash> entries = hashes(row);
                        requireRoot(row, 0, tile.index(), leaves(entries));
                        cache.put(projectId, true, 0, tile.index(), entries);
                        return Uni.createFrom().item(entries);
                    }
                    return entries(tile);
                });
    }

    private static List<Hash> cut(List<Hash> hashes, Tile tile) {
        if (hashes.size() < tile.width()) {
            throw new DamagedLog("tile " + tile.index() + " of level " + tile.level() + " is missing");
        }
        return hashes.subList(0, tile.width());
    }

    private Uni<List<Hash>> entries(Tile tile) {
        return cache.partialEntries(projectId, tile, begun -> hashed(tile, begun));
    }

    /** Hashes the records of a tile after the first ones. */
    private Uni<List<Hash>> hashed(Tile tile, long begun) {
        long start = tile.index() * Tile.WIDTH;
        return seeds(tile.index(), tile.index())
                .chain(seeds -> {
                    TileSeed seed = seeds.get(tile.index());
                    if (seed == null) {
                        throw new DamagedLog("the seed of tile " + tile.index() + " is missing");
                    }
                    return Leaves.read(client, projectId, start + begun, start + tile.width(), seed);
                })
                .map(Leaves::entries);
    }

    /** By tile, as far as seeds exist. */
    Uni<Map<Long, TileSeed>> seeds(long first, long last) {
        return READ_SEEDS
                .bind("project_id", projectId)
                .bind("first", first)
                .bind("last", last)
                .execute(client)
                .map(rows -> {
                    Map<Long, TileSeed> seeds = new HashMap<>();
                    rows.forEach(row -> seeds.put(
                            row.getLong("tile"),
                            TileSeed.of(row.getBuffer("seed").getBytes())));
                    return seeds;
                });
    }
}
