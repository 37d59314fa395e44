package dev.annals.derived.projection;

import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Finds projects with new records at the end of {@code annals.feed_segment}, to which every commit adds a row. The row's transaction number
 * tells whether the last read saw it. {@link Projector} finds in its rounds what this misses: rows in place of expired ones.
 *
 * <p>A pass over the end of the table takes one or more reads. One read runs at a time.
 */
final class RecentProjects {

    private static final Sql READ_RECENT_PROJECTS = Sql.named("derived/projection/read_recent_projects");
    /** The most rows of a read, more than a page holds, so that each read reaches another page. */
    private static final int PLACES = 1_000;
    /** The pages before the last one that may still get rows: each session fills a page of its own. */
    private static final int OPEN_PAGES = 64;

    private final Pool pool;
    private volatile long fromPage = Long.MAX_VALUE;
    private volatile @Nullable String seen;
    /** The end of the table when the pass began; null between passes. */
    private volatile @Nullable End end;

    RecentProjects(Pool pool) {
        this.pool = pool;
    }

    private record End(long lastPage, String snapshot) {}

    record Found(Set<UUID> projectIds, boolean more) {

        static final Found NOTHING = new Found(Set.of(), false);
    }

    Uni<Found> read() {
        return READ_RECENT_PROJECTS
                .bind("from_page", fromPage)
                .bind("seen", seen)
                .bind("places", PLACES)
                .execute(pool)
                .map(this::found);
    }

    private Found found(RowSet<Row> rows) {
        Set<UUID> projectIds = new HashSet<>();
        long page = fromPage;
        End reached = end;
        for (Row row : rows) {
            UUID projectId = row.getUUID("project_id");
            if (projectId != null) {
                projectIds.add(projectId);
                page = row.getLong("page");
            } else if (reached == null) {
                reached = new End(row.getLong("page"), row.getString("snapshot"));
            }
        }
        boolean more = rows.size() > PLACES && page != fromPage;
        if (more) {
            fromPage = page;
            end = reached;
        } else {
            End last = Objects.requireNonNull(reached);
            fromPage = last.lastPage() - OPEN_PAGES;
            seen = last.snapshot();
            end = null;
        }
        return new Found(projectIds, more);
    }
}
