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
 * Finds the projects that have just got records, however many others there are, at the end of the table of places, to which every
 * commit adds. Of what it comes across, it takes what the read before did not see. What it misses is found by the next look at all
 * projects.
 *
 * <p>One read at a time.
 */
final class RecentProjects {

    private static final Sql READ_RECENT_PROJECTS = Sql.named("derived/projection/read_recent_projects");
    /** How many places one read takes: more than fit on a page, so that it always gets to another one. */
    private static final int PLACES = 1_000;
    /** Each session that writes fills a page of its own, and so many pages before the last one may still be somebody's. */
    private static final int OPEN_PAGES = 64;

    private final Pool pool;
    private volatile long fromPage = Long.MAX_VALUE;
    private volatile @Nullable String seen;
    /** Where the read began that is not at its end yet. */
    private volatile @Nullable Marks began;

    RecentProjects(Pool pool) {
        this.pool = pool;
    }

    /** The last page of the table, and the snapshot. */
    private record Marks(long lastPage, String snapshot) {}

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
                .bind("from_page", fromPage)
                .bind("seen", seen)
                .bind("places", PLACES)
                .execute(pool)
                .map(this::found);
    }

    private Found found(RowSet<Row> rows) {
        Set<UUID> projectIds = new HashSet<>();
        long page = fromPage;
        Marks marks = began;
        for (Row row : rows) {
            UUID projectId = row.getUUID("project_id");
            if (projectId != null) {
                projectIds.add(projectId);
                page = row.getLong("page");
            } else if (marks == null) {
                marks = new Marks(row.getLong("page"), row.getString("snapshot"));
            }
        }
        boolean more = rows.size() > PLACES && page != fromPage;
        if (more) {
            fromPage = page;
            began = marks;
        } else {
            Marks reached = Objects.requireNonNull(marks);
            fromPage = reached.lastPage() - OPEN_PAGES;
            seen = reached.snapshot();
            began = null;
        }
        return new Found(projectIds, more);
    }
}
