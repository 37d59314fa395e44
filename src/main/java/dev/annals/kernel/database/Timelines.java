package dev.annals.kernel.database;

import dev.annals.kernel.quarantine.AnswerDeadline;
import io.vertx.core.Future;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlConnection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jboss.logging.Logger;

/**
 * Recognizes an old primary after a failover by its timeline, which each promotion advances. The old primary does not notice:
 * after a freeze, it accepts writes that other instances never see. Its connections are refused or closed. Thread-safe.
 */
final class Timelines {

    private static final Logger LOG = Logger.getLogger(Timelines.class);
    private static final Sql FIND_TIMELINE = Sql.named("kernel/database/find_timeline");

    /** By the system identifier, which copies of a cluster share. */
    private final Map<Long, Newest> clusters = new HashMap<>();

    private static final class Newest {
        private int timeline;
        private final Set<SqlConnection> open = new HashSet<>();
    }

    /** Fails with {@link UnusableSessionException} if this primary's timeline is an old one. */
    Future<Void> requireNewest(SqlConnection connection, DatabaseUrl.Server server) {
        return connection.query(FIND_TIMELINE.text()).execute().map(rows -> {
            Row row = rows.iterator().next();
            if (!isNewest(connection, row.getLong("cluster"), row.getInteger("timeline"))) {
                throw UnusableSessionException.otherServer("The database at " + server
                        + " was the primary before another server was promoted. If it is to be the primary again"
                        + " although it has not followed that one, start the service anew.");
            }
            return null;
        });
    }

    private synchronized boolean isNewest(SqlConnection connection, long cluster, int timeline) {
        Newest newest = clusters.computeIfAbsent(cluster, unseen -> new Newest());
        if (timeline < newest.timeline) {
            return false;
        }
        if (timeline > newest.timeline) {
            newest.timeline = timeline;
            if (!newest.open.isEmpty()) {
                LOG.warnf(
                        "A newer primary was promoted: %d connections to the one before are closed",
                        newest.open.size());
            }
            newest.open.forEach(AnswerDeadline::giveUp);
            newest.open.clear();
        }
        newest.open.add(connection);
        AnswerDeadline.whenClosed(connection, () -> forget(newest, connection));
        return true;
    }

    private synchronized void forget(Newest newest, SqlConnection connection) {
        newest.open.remove(connection);
    }
}
