package dev.annals.derived.search;

import dev.annals.access.places.Places;
import dev.annals.core.feed.FeedIndex;
import dev.annals.core.feed.FeedIndex.ScanPlan;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.query.Filter;
import dev.annals.derived.projection.Projection;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The index behind filters. As a projection, it stores for each block of {@value #BLOCK} places the values of its records, and the slices
 * or places that hold each value. As the {@link FeedIndex}, it plans which ranges of a feed a page with filters reads. A plan leaves out no
 * match; the records themselves decide.
 *
 * <p>A plan has a bounded number of places and blocks. After the last indexed block it covers every place up to the head, so pages are
 * correct however far the index is behind.
 */
@ApplicationScoped
public class SearchIndex implements Projection, FeedIndex {

    private static final Sql PROJECT_SEARCH = Sql.named("derived/search/project_search");
    private static final Sql FORGET_BLOCK = Sql.named("derived/search/forget_block");
    private static final Sql FORGET_TERMS = Sql.named("derived/search/forget_terms");
    private static final Sql RESET_SEARCH = Sql.named("derived/search/reset_search");
    private static final Sql RESET_TERMS = Sql.named("derived/search/reset_terms");
    private static final Sql SEARCH_BLOCKS = Sql.named("derived/search/search_blocks");
    private static final Sql SEARCH_BLOCKS_BY_TIME = Sql.named("derived/search/search_blocks_by_time");

    private static final int BLOCK = 1_024;
    /** Places that share a bit. */
    private static final int SLICE = BLOCK / Long.SIZE;
    /** Enough for frequent values. */
    private static final int FEW_BLOCKS = 8;

    /** Plans for more records than wanted, because a value is not equally frequent everywhere. */
    private static final double SPARE = 1.25;

    private static final int MORE_BLOCKS = 504;

    /** Facets read all of these blocks. */
    private static final int MANY_BLOCKS = 248;
    /** A stretch has 2<sup>20</sup> places. */
    private static final int STRETCHES = 256;

    private static final int STRETCH_BITS = 20;

    /** Values are shorter as a rule. Splitting a long one into words takes milliseconds. */
    private static final int INDEXED_BYTES = 4_096;
    /** The index grows with each word. Every search for words reads the rare record with a value of more. */
    private static final int INDEXED_WORDS = 256;

    /** A dictionary with more does not help a pattern, and a writer must not fill the disk. */
    private static final int DICTIONARY_TERMS = 100_000;

    private static final int BLOCKS_PER_RESET = 500;
    private static final int TERMS_PER_RESET = 20_000;

    private final Function<UUID, Pool> pool;
    private final SearchConfig config;
    private final int indexedBytes;
    private final int indexedWords;
    private final int terms;

    @Inject
    SearchIndex(Places places, SearchConfig config) {
        this(projectId -> places.of(projectId).reads(), config, INDEXED_BYTES, INDEXED_WORDS, DICTIONARY_TERMS);
    }

    public SearchIndex(Pool pool, SearchConfig config) {
        this(pool, config, INDEXED_BYTES, INDEXED_WORDS, DICTIONARY_TERMS);
    }

    /**
     * Creates an index with other limits.
     *
     * @param indexedBytes the most bytes of UTF-8 of a value whose words are indexed; a search for words reads every record with a
     *     longer one
     * @param indexedWords the most words of such a value
     * @param terms the most terms of a field in the dictionary of a project; a pattern for a field with more is not looked up
     */
    public SearchIndex(Pool pool, SearchConfig config, int indexedBytes, int indexedWords, int terms) {
        this(projectId -> pool, config, indexedBytes, indexedWords, terms);
    }

    private SearchIndex(Function<UUID, Pool> pool, SearchConfig config, int indexedBytes, int indexedWords, int terms) {
        this.pool = pool;
        this.config = config;
        this.indexedBytes = indexedBytes;
        this.indexedWords = indexedWords;
        this.terms = terms;
    }

    @Override
    public String name() {
        return "search";
    }

    @Override
    public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
        return PROJECT_SEARCH
                .bind("project_id", projectId)
                .bind("sequence_id", sequenceId)
                .bind("bytes", indexedBytes)
                .bind("words", indexedWords)
                .bind("terms", terms)
                .execute(connection)
                .map(rows -> rows.iterator().next().getLong("sequence_id"));
    }

    @Override
    public Uni<Void> retract(SqlConnection connection, UUID projectId, long sequenceId) {
        return FORGET_BLOCK
                .bind("project_id", projectId)
                .bind("block", (sequenceId - 1) / BLOCK)
                .execute(connection)
                .replaceWithVoid();
    }

    @Override
    public Uni<Void> include(SqlConnection connection, UUID projectId, long sequenceId) {
        return project(connection, projectId, (sequenceId - 1) / BLOCK * BLOCK)
                .chain(() -> forgetTerms(connection, projectId, sequenceId));
    }

    private static Uni<Void> forgetTerms(SqlConnection connection, UUID projectId, long sequenceId) {
        return FORGET_TERMS
                .bind("project_id", projectId)
                .bind("block", (sequenceId - 1) / BLOCK)
                .execute(connection)
                .replaceWithVoid();
    }

    @Override
    public Uni<Void> afterRemoval(SqlConnection connection, UUID projectId, long horizon) {
        return horizon % BLOCK == 0
                ? forgetTerms(connection, projectId, horizon)
                : retract(connection, projectId, horizon + 1).chain(() -> include(connection, projectId, horizon + 1));
    }

    @Override
    public Uni<Void> reset(SqlConnection connection, UUID projectId) {
        AtomicReference<@Nullable Long> after = new AtomicReference<>();
        return untilDone(() -> resetNext(connection, projectId, after))
                .chain(() -> untilDone(() -> RESET_TERMS
                        .bind("project_id", projectId)
                        .bind("terms", TERMS_PER_RESET)
                        .execute(connection)
                        .map(rows -> rows.iterator().next().getLong("terms") > 0)));
    }

    private static Uni<Void> untilDone(Supplier<Uni<Boolean>> step) {
        return Multi.createBy()
                .repeating()
                .uni(() -> step.get())
                .whilst(more -> more)
                .collect()
                .last()
                .replaceWithVoid();
    }

    // Bounded, so that no statement runs into its time limit.
    private static Uni<Boolean> resetNext(
            SqlConnection connection, UUID projectId, AtomicReference<@Nullable Long> after) {
        return RESET_SEARCH
                .bind("project_id", projectId)
                .bind("after", after.get())
                .bind("blocks", BLOCKS_PER_RESET)
                .execute(connection)
                .map(rows -> {
                    after.set(rows.iterator().next().getLong("last"));
                    return after.get() != null;
                });
    }

    /**
     * A block that may hold matches, in the slices whose bits are set, and at single places.
     *
     * @param places in the block, from 0 on
     */
    private record Block(long number, long slices, List<Integer> places) {

        long first() {
            return number * BLOCK + 1;
        }

        long last() {
            return (number + 1) * BLOCK;
        }

        /** Each slice or place has a match as a rule. */
        int hits() {
            return Long.bitCount(slices) + places.size();
        }

        int width() {
            return Long.bitCount(slices) * SLICE + places.size();
        }

        /** In the feed's order. They may overlap. */
        List<Range> ranges() {
            List<Range> ranges = new ArrayList<>();
            for (int slice = 0; slice < Long.SIZE; slice++) {
                if ((slices >>> slice & 1) == 1) {
                    long first = first() + (long) slice * SLICE;
                    ranges.add(new Range(first, first + SLICE - 1));
                }
            }
            for (int place : places) {
                if ((slices >>> (place / SLICE) & 1) == 0) {
                    ranges.add(new Range(first() + place, first() + place));
                }
            }
            ranges.sort(Comparator.comparingLong(Range::first));
            return ranges;
        }
    }

    private record Range(long first, long last) {}

    /**
     * @param head the last sequence id of the feed
     * @param through the last indexed sequence id
     * @param covered up to here, no other block holds a match
     */
    private record IndexHits(long head, long through, List<Block> blocks, long covered) {

        int hits() {
            return blocks.stream().mapToInt(Block::hits).sum();
        }

        long width() {
            return blocks.stream().mapToLong(Block::width).sum();
        }
    }

    @Override
    public SearchIndex readBy(Pool other) {
        return new SearchIndex(other, config, indexedBytes, indexedWords, terms);
    }

    @Override
    public Uni<ScanPlan> planForward(UUID projectId, long behind, Filter filter, int limit) {
        return find(projectId, Order.ASCENDING, filter, behind + 1, FEW_BLOCKS)
                .chain(hits -> hits.blocks().size() < FEW_BLOCKS || hits.hits() > limit
                        ? Uni.createFrom().item(hits)
                        : find(projectId, Order.ASCENDING, filter, hits.covered() + 1, more(hits, filter, limit))
                                .map(more -> new IndexHits(
                                        more.head(),
                                        more.through(),
                                        both(hits, more),
                                        Math.max(hits.covered(), more.covered()))))
                .map(hits -> planForward(behind, hits));
    }

    private ScanPlan planForward(long behind, IndexHits hits) {
        ScanPlan plan = new ScanPlan(true, config.scanLimit(), hits.through());
        if (behind > 0) {
            plan.addPlace(behind);
        }
        for (Block block : hits.blocks()) {
            for (Range range : block.ranges()) {
                if (!plan.add(Math.max(range.first(), behind + 1), range.last())) {
                    return plan;
                }
            }
        }
        if (hits.covered() > behind) {
            plan.addPlace(hits.covered());
        }
        if (hits.covered() >= hits.through() && plan.budget() > 0) {
            plan.add(hits.covered() + 1, hits.covered() + plan.budget());
        }
        return plan;
    }

    @Override
    public Uni<ScanPlan> planBack(UUID projectId, @Nullable Long before, Filter filter, int limit) {
        return find(projectId, Order.DESCENDING, filter, before == null ? null : before - 1, FEW_BLOCKS)
                .chain(hits -> hits.blocks().size() < FEW_BLOCKS || hits.hits() > limit || hits.covered() == 1
                        ? Uni.createFrom().item(hits)
                        : find(projectId, Order.DESCENDING, filter, hits.covered() - 1, more(hits, filter, limit))
                                .map(more -> together(hits, more)))
                .map(hits -> planBack(before, hits, config.scanLimit()));
    }

    /** Plans where to read all matches before a place, the newest first. The next plan begins before {@link ScanPlan#lowest}. */
    public Uni<ScanPlan> planBack(UUID projectId, long before, Filter filter, long places) {
        return find(projectId, Order.DESCENDING, filter, before - 1, MANY_BLOCKS)
                .map(hits -> planBack(new ScanPlan(false, places, hits.through()), before - 1, hits));
    }

    private static ScanPlan planBack(@Nullable Long before, IndexHits hits, long places) {
        ScanPlan plan = new ScanPlan(false, places, hits.through());
        long highest = before == null ? hits.head() : before - 1;
        if (before != null || highest > 0) {
            plan.addPlace(before == null ? highest : before);
        }
        return planBack(plan, highest, hits);
    }

    private static ScanPlan planBack(ScanPlan plan, long highest, IndexHits hits) {
        if (highest > hits.through() && !plan.add(hits.through() + 1, highest)) {
            return plan;
        }
        for (Block block : hits.blocks()) {
            List<Range> ranges = block.ranges();
            for (int i = ranges.size() - 1; i >= 0; i--) {
                if (!plan.add(ranges.get(i).first(), Math.min(ranges.get(i).last(), highest))) {
                    return plan;
                }
            }
        }
        if (hits.covered() <= highest) {
            plan.addPlace(hits.covered());
        }
        return plan;
    }

    /** Drops the second result if a rebuild began between both searches: it lacks blocks. */
    private static IndexHits together(IndexHits hits, IndexHits more) {
        return more.through() < hits.covered() - 1
                ? hits
                : new IndexHits(
                        hits.head(), hits.through(), both(hits, more), Math.min(hits.covered(), more.covered()));
    }

    private static List<Block> both(IndexHits hits, IndexHits more) {
        List<Block> blocks = new ArrayList<>(hits.blocks());
        blocks.addAll(more.blocks());
        return blocks;
    }

    /** Enough blocks to fill the page if matches stay as frequent, no more than the page may read. */
    private int more(IndexHits few, Filter filter, int limit) {
        double lookable = (double) config.scanLimit() / Math.max(1, few.width());
        double passing = SPARE * limit / Math.max(1, few.hits());
        double blocks = FEW_BLOCKS * (IndexKeys.of(filter).areSingle() ? Math.min(lookable, passing) : lookable);
        return (int) Math.max(FEW_BLOCKS, Math.min(MORE_BLOCKS, blocks));
    }

    private Uni<IndexHits> find(UUID projectId, Order order, Filter filter, @Nullable Long from, int blocks) {
        return find(projectId, order, filter, IndexKeys.of(filter), from, blocks);
    }

    private Uni<IndexHits> find(
            UUID projectId, Order order, Filter filter, IndexKeys keys, @Nullable Long from, int blocks) {
        boolean ascending = order == Order.ASCENDING;
        Binds binds = (keys.isAnything() ? SEARCH_BLOCKS_BY_TIME : SEARCH_BLOCKS)
                .bind("project_id", projectId)
                .bind("direction", ascending ? 1 : -1)
                .bind("from", from)
                .bind("blocks", blocks)
                .bind("stretches", STRETCHES)
                .bind("start", filter.start())
                .bind("end", filter.end());
        if (!keys.isAnything()) {
            binds.bind("alternatives", keys.numbers())
                    .bind("fields", keys.fields())
                    .bind("kinds", keys.kinds())
                    .bind("values", keys.values())
                    .bind("most", keys.mostTerms());
        }
        return binds.execute(pool.apply(projectId))
                .chain(rows -> !keys.isAnything() && rows.iterator().next().getBoolean("anything")
                        ? find(projectId, order, filter, IndexKeys.NONE, from, blocks)
                        : Uni.createFrom().item(hits(rows, ascending, from, blocks)));
    }

    private static IndexHits hits(RowSet<Row> rows, boolean ascending, @Nullable Long from, int limit) {
        List<Block> blocks = new ArrayList<>();
        long head = 0;
        long through = 0;
        for (Row row : rows) {
            head = row.getLong("head");
            through = row.getLong("through");
            if (row.getLong("block") != null) {
                Integer[] places = row.getArrayOfIntegers("places");
                blocks.add(new Block(
                        row.getLong("block"), row.getLong("slices"), places == null ? List.of() : List.of(places)));
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
        return new IndexHits(head, through, blocks, covered);
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
