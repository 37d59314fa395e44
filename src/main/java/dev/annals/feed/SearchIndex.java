package dev.annals.feed;

import dev.annals.database.Sql;
import dev.annals.feed.FeedQuery.Filter;
import dev.annals.feed.FeedQuery.Order;
import dev.annals.projection.Projection;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The index behind filters: a projection that notes for each block of {@value #BLOCK} places which values its records
 * have, and which slices of the block hold each; and the ranges of a feed that a page with filters has to look at. It
 * never leaves out a record that passes; the records themselves decide.
 *
 * <p>A page looks at a bounded number of places and blocks, and behind the last block at every place, up to the head:
 * so it does not matter how far the index is behind.
 */
@ApplicationScoped
public class SearchIndex implements Projection {

    private static final String PROJECT_SEARCH = Sql.named("project_search");
    private static final String RESET_SEARCH = Sql.named("reset_search");
    private static final String SEARCH_BLOCKS = Sql.named("search_blocks");
    private static final String SEARCH_BLOCKS_BY_TIME = Sql.named("search_blocks_by_time");

    private static final int BLOCK = 1_024;
    /** Places that share a bit. */
    private static final int SLICE = BLOCK / Long.SIZE;
    /** Blocks to ask for at first, which is enough for values that are common, and then. */
    private static final int FEW_BLOCKS = 8;

    private static final int MANY_BLOCKS = 248;
    /** Stretches of 2<sup>20</sup> places whose blocks are asked for together. */
    private static final int STRETCHES = 256;

    private static final int STRETCH_BITS = 20;

    private final Pool pool;
    private final FeedConfig config;

    SearchIndex(Pool pool, FeedConfig config) {
        this.pool = pool;
        this.config = config;
    }

    @Override
    public String name() {
        return "search";
    }

    @Override
    public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
        return connection
                .preparedQuery(PROJECT_SEARCH)
                .execute(Tuple.of(projectId, sequenceId, config.indexedMessageBytes(), config.indexedWords()))
                .map(rows -> rows.iterator().next().getLong(0));
    }

    @Override
    public Uni<Void> reset(SqlConnection connection, UUID projectId) {
        return connection
                .preparedQuery(RESET_SEARCH)
                .execute(Tuple.of(projectId))
                .replaceWithVoid();
    }

    /** A block that can hold what is looked for, in the slices whose bits are set. */
    private record Block(long number, long slices) {

        long first() {
            return number * BLOCK + 1;
        }

        long last() {
            return (number + 1) * BLOCK;
        }
    }

    /**
     * What the index knows.
     *
     * @param head the last sequence id of the feed
     * @param through up to there it knows all
     * @param covered in the direction of the search, up to there no other blocks are worth a look
     */
    private record Found(long head, long through, List<Block> blocks, long covered) {

        int slices() {
            return blocks.stream()
                    .mapToInt(block -> Long.bitCount(block.slices()))
                    .sum();
        }
    }

    /** The ranges behind a place; the place itself comes first, if there is one. */
    Uni<Ranges> rangesOn(UUID projectId, long behind, FeedQuery query) {
        return find(projectId, query, behind + 1, FEW_BLOCKS)
                .chain(found -> found.blocks().size() < FEW_BLOCKS || found.slices() > query.limit()
                        ? Uni.createFrom().item(found)
                        : find(projectId, query, found.covered() + 1, MANY_BLOCKS)
                                .map(more -> new Found(
                                        more.head(),
                                        more.through(),
                                        both(found, more),
                                        Math.max(found.covered(), more.covered()))))
                .map(found -> rangesOn(behind, found));
    }

    private Ranges rangesOn(long behind, Found found) {
        Ranges ranges = new Ranges(true, config.scanLimit());
        if (behind > 0) {
            ranges.addPlace(behind);
        }
        for (Block block : found.blocks()) {
            for (int slice = 0; slice < Long.SIZE; slice++) {
                long first = block.first() + (long) slice * SLICE;
                if ((block.slices() >>> slice & 1) == 1
                        && !ranges.add(Math.max(first, behind + 1), first + SLICE - 1)) {
                    return ranges;
                }
            }
        }
        if (found.covered() > behind) {
            ranges.addPlace(found.covered());
        }
        if (found.covered() >= found.through() && ranges.budget() > 0) {
            ranges.add(found.covered() + 1, found.covered() + ranges.budget());
        }
        return ranges;
    }

    /** The ranges before a place, which comes first itself; from the head on where there is none. */
    Uni<Ranges> rangesBack(UUID projectId, @Nullable Long before, FeedQuery query) {
        if (query.filter().equals(Filter.NONE)) {
            return find(projectId, query, before == null ? null : before - 1, 0)
                    .map(found -> rangesBack(before, new Found(found.head(), 0, List.of(), 1), query.limit() + 1));
        }
        return find(projectId, query, before == null ? null : before - 1, FEW_BLOCKS)
                .chain(found ->
                        found.blocks().size() < FEW_BLOCKS || found.slices() > query.limit() || found.covered() == 1
                                ? Uni.createFrom().item(found)
                                : find(projectId, query, found.covered() - 1, MANY_BLOCKS)
                                        .map(more -> together(found, more)))
                .map(found -> rangesBack(before, found, config.scanLimit()));
    }

    private static Ranges rangesBack(@Nullable Long before, Found found, int budget) {
        Ranges ranges = new Ranges(false, budget);
        long highest = before == null ? found.head() : before - 1;
        if (before != null || highest > 0) {
            ranges.addPlace(before == null ? highest : before);
        }
        if (highest > found.through() && !ranges.add(found.through() + 1, highest)) {
            return ranges;
        }
        for (Block block : found.blocks()) {
            for (int slice = Long.SIZE - 1; slice >= 0; slice--) {
                long first = block.first() + (long) slice * SLICE;
                if ((block.slices() >>> slice & 1) == 1 && !ranges.add(first, Math.min(first + SLICE - 1, highest))) {
                    return ranges;
                }
            }
        }
        if (found.covered() <= highest) {
            ranges.addPlace(found.covered());
        }
        return ranges;
    }

    /** Where the index was set back in between, the second part knows nothing of what it leaves out. */
    private static Found together(Found found, Found more) {
        return more.through() < found.covered() - 1
                ? found
                : new Found(
                        found.head(), found.through(), both(found, more), Math.min(found.covered(), more.covered()));
    }

    private static List<Block> both(Found found, Found more) {
        List<Block> blocks = new ArrayList<>(found.blocks());
        blocks.addAll(more.blocks());
        return blocks;
    }

    /** @param from the place to begin at; null is the head */
    private Uni<Found> find(UUID projectId, FeedQuery query, @Nullable Long from, int blocks) {
        Filter filter = query.filter();
        boolean ascending = query.order() == Order.ASCENDING;
        Tuple tuple = Tuple.tuple()
                .addUUID(projectId)
                .addInteger(ascending ? 1 : -1)
                .addLong(from)
                .addInteger(blocks)
                .addInteger(STRETCHES);
        boolean byTime =
                filter.equals(new Filter(filter.start(), filter.end(), null, null, null, null, null, null, null));
        return pool.preparedQuery(byTime ? SEARCH_BLOCKS_BY_TIME : SEARCH_BLOCKS)
                .execute(
                        byTime
                                ? tuple.addOffsetDateTime(filter.start()).addOffsetDateTime(filter.end())
                                : FeedReader.filters(tuple, filter))
                .map(rows -> found(rows, ascending, from, blocks));
    }

    private static Found found(RowSet<Row> rows, boolean ascending, @Nullable Long from, int limit) {
        List<Block> blocks = new ArrayList<>();
        long head = 0;
        long through = 0;
        for (Row row : rows) {
            head = row.getLong(0);
            through = row.getLong(1);
            if (row.getLong(2) != null) {
                blocks.add(new Block(row.getLong(2), row.getLong(3)));
            }
        }
        long begin = from == null ? head : from;
        boolean all = blocks.isEmpty() || blocks.size() < limit;
        long covered;
        if (ascending) {
            covered = all
                    ? Math.min(through, endOfStretches(begin))
                    : last(blocks).last();
            covered = Math.max(begin - 1, covered);
        } else {
            covered = all
                    ? startOfStretches(Math.min(begin, through))
                    : last(blocks).first();
        }
        return new Found(head, through, blocks, covered);
    }

    private static Block last(List<Block> blocks) {
        return blocks.get(blocks.size() - 1);
    }

    private static long endOfStretches(long from) {
        return (((from - 1) >> STRETCH_BITS) + STRETCHES) << STRETCH_BITS;
    }

    private static long startOfStretches(long from) {
        return (Math.max(0, ((from - 1) >> STRETCH_BITS) - STRETCHES + 1) << STRETCH_BITS) + 1;
    }
}
