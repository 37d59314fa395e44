package dev.annals.bench.search;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.derived.facets.FacetCounts;
import dev.annals.derived.search.SearchConfig;
import dev.annals.derived.search.SearchIndex;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.DatabaseUrl;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.PoolOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;

/** Pages with filters and facets as the service reads them, and its projection of the index, for the benchmarks. */
public final class SearchPages implements AutoCloseable {

    private static final ObjectMapper JSON = new ObjectMapper();

    private static final Duration LIMIT = Duration.ofMinutes(5);

    private static final int PAGE_BYTES = 2_097_152;

    private final Vertx vertx = Vertx.vertx();
    private final Pool pool;
    private final SearchIndex index;
    private final FeedReader reader;
    private final FacetCounts facets;

    /** The records found and the requests it took. Incomplete if it took too long. */
    record Found(int records, int requests, boolean inTime) {}

    public SearchPages(DatabaseUrl url) {
        PgConnectOptions options = PgConnectOptions.fromUri(url.withPassword()).setCachePreparedStatements(true);
        // as ServicePool has it
        for (String setting : new String[] {"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"}) {
            options.addProperty(setting, "off");
        }
        pool = Pool.newInstance(PgBuilder.pool()
                .with(new PoolOptions().setMaxSize(2))
                .connectingTo(options)
                .using(vertx)
                .build());
        index = new SearchIndex(pool, Settings.of(SearchConfig.class, Map.of()));
        reader = new DatabaseReader(pool, index);
        facets = new FacetCounts(pool, index);
    }

    /** Indexes the next block behind a sequence id; gives up to where it is. */
    public long index(UUID projectId, long sequenceId) {
        return pool.withTransaction(connection -> index.project(connection, projectId, sequenceId))
                .await()
                .atMost(LIMIT);
    }

    /** The filter that a reader asks for with {@code q} alone. */
    static Filter filter(String query) throws QueryException {
        return Filter.NONE.and(QueryParser.parse(query, null));
    }

    /** Follows {@code next} until so many records are found, or to the end, or until it takes too long. */
    Found find(UUID projectId, boolean ascending, int wanted, Filter filter, Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        Cursor cursor = null;
        int found = 0;
        int requests = 0;
        while (true) {
            FeedQuery query = new FeedQuery(
                    ascending ? Order.ASCENDING : Order.DESCENDING, cursor, null, wanted - found, PAGE_BYTES, filter);
            FeedPage page = reader.read(projectId, query).await().atMost(LIMIT);
            requests++;
            found += page.records().size();
            cursor = page.next();
            if (cursor == null || found >= wanted) {
                return new Found(found, requests, true);
            }
            if (System.nanoTime() > deadline) {
                return new Found(found, requests, false);
            }
        }
    }

    /** The number of records that facets counted, and whether those are all. */
    Found facets(UUID projectId, Filter filter) throws IOException {
        JsonNode answer = JSON.readTree(facets.count(projectId, filter).await().atMost(LIMIT));
        return new Found(
                answer.path("total").asInt(), 1, answer.path("complete").asBoolean());
    }

    @Override
    public void close() {
        pool.close().await().atMost(LIMIT);
        vertx.close();
    }
}
