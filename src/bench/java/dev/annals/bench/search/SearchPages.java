package dev.annals.bench.search;

import dev.annals.database.DatabaseUrl;
import dev.annals.feed.Cursor;
import dev.annals.feed.FeedPage;
import dev.annals.feed.FeedQuery;
import dev.annals.feed.FeedReader;
import dev.annals.search.Filter;
import dev.annals.search.Order;
import dev.annals.search.SearchConfig;
import dev.annals.search.SearchIndex;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.PoolOptions;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Pages with filters as the service reads them, and its projection of the index, for the benchmarks. */
public final class SearchPages implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofMinutes(5);

    private static final int PAGE_BYTES = 2_097_152;

    private record Limits(int scanLimit, int indexedMessageBytes, int indexedWords) implements SearchConfig {}

    private final Vertx vertx = Vertx.vertx();
    private final Pool pool;
    private final SearchIndex index;
    private final FeedReader reader;

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
        index = new SearchIndex(pool, new Limits(5000, 4096, 256));
        reader = new FeedReader(pool, index);
    }

    /** Indexes the next block behind a sequence id; gives up to where it is. */
    public long index(UUID projectId, long sequenceId) {
        return pool.withTransaction(connection -> index.project(connection, projectId, sequenceId))
                .await()
                .atMost(LIMIT);
    }

    /** Follows {@code next} until so many records are found, or to the end. Gives how many it found. */
    public int find(UUID projectId, boolean ascending, @Nullable Cursor from, int wanted, Filter filter) {
        Cursor cursor = from;
        int found = 0;
        while (true) {
            FeedQuery query = new FeedQuery(
                    ascending ? Order.ASCENDING : Order.DESCENDING, cursor, null, wanted - found, PAGE_BYTES, filter);
            FeedPage page = reader.read(projectId, query).await().atMost(LIMIT);
            found += page.records().size();
            cursor = page.next();
            if (cursor == null || found >= wanted) {
                return found;
            }
        }
    }

    @Override
    public void close() {
        pool.close().await().atMost(LIMIT);
        vertx.close();
    }
}
