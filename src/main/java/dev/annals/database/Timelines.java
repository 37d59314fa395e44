package dev.annals.database;

import io.vertx.core.Future;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlConnection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells a primary from one that was left for a promoted standby. Each promotion begins a new timeline of the cluster. The old primary does
 * not learn of it: after a freeze, say, it takes writes that nobody else will see, and shows a feed that has stood still.
 *
 * <p>A cluster is known by its system identifier, which copies share and a database that was made anew does not have.
 */
final class Timelines {

    private static final Sql FIND_TIMELINE = Sql.named("find_timeline");

    /** By the system identifier. */
    private final Map<Long, Integer> newest = new ConcurrentHashMap<>();

    /**
     * Fails with {@link UnusableSessionException} if a newer timeline of its cluster was seen.
     *
     * @param connection to a primary
     */
    Future<Void> requireNewest(SqlConnection connection, DatabaseUrl.Server server) {
        return connection.query(FIND_TIMELINE.text()).execute().map(rows -> {
            Row row = rows.iterator().next();
            int timeline = row.getInteger("timeline");
            if (newest.merge(row.getLong("cluster"), timeline, Math::max) > timeline) {
                throw UnusableSessionException.otherServer("The database at " + server
                        + " was the primary before another server was promoted. If it is to be the primary again"
                        + " although it has not followed that one, start the service anew.");
            }
            return null;
        });
    }
}
