package dev.annals.projection;

import dev.annals.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Finds the projects that have just got records, however many others there are, at the end of the table of places, to which every
 * commit adds. Each read begins where the table ended a second ago, since transactions that had their place by then may have
 * committed later. What a read misses is found by the next look at all projects.
 *
 * <p>One read at a time.
 */
final class RecentProjects {

    private static final Sql READ_RECENT_PROJECTS = Sql.named("read_recent_projects");
    /** More than most transactions take from their place to their commit, which is when they wait for the disk. */
    private static final Duration UNTIL_COMMITTED = Duration.ofSeconds(1);
    /** How many places one read takes: more than fit on a page, so that it always gets to another one. */
    private static final int PLACES = 1_000;

    private final Pool pool;
    /** The page at which the next read begins; null is the last one. */
    private volatile @Nullable Long from;
    /** The last page of the table when {@link #from} was set, which was then. */
    private volatile @Nullable Long reached;

    private volatile long reachedAt = System.nanoTime();

    RecentProjects(Pool pool) {
        this.pool = pool;
    }

    /**
     * What a read has found.
     *
     * @param more whether there are places behind those that it looked at
     */
    record Found(Set<UUID> projectIds, boolean more) {

        static final Found NOTHING = new Found(Set.of(), false);
    }

    Uni<Found> read() {
        return READ_RECENT_PROJECTS
                .bind("from_page", from)
                .bind("places", PLACES)
                .execute(pool)
                .map(this::found);
    }

    private Found found(RowSet<Row> rows) {
        Set<UUID> projectIds = new HashSet<>();
        Long last = null;
        for (Row row : rows) {
            projectIds.add(row.getUUID("project_id"));
            last = row.getLong("page");
        }
        boolean more = rows.size() == PLACES && !Objects.equals(last, from);
        if (more) {
            reach(last, last);
        } else if (from == null || System.nanoTime() - reachedAt > UNTIL_COMMITTED.toNanos()) {
            reach(reached == null ? last : reached, last);
        }
        return new Found(projectIds, more);
    }

    private void reach(@Nullable Long nextFrom, @Nullable Long last) {
        from = nextFrom;
        reached = last;
        reachedAt = System.nanoTime();
    }
}
