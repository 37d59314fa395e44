package dev.annals.core.feed;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.memory.Reservation;
import io.smallrye.mutiny.Uni;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages of feeds. Each of three readers answers what it can answer more cheaply, and passes other requests on:
 *
 * <pre>
 * StandbyReader    asks a hot standby that has replayed what the client has seen
 *    |
 * CachingReader    answers the ends of feeds from memory, after the database confirmed them
 *    |
 * DatabaseReader   finds the database of a project that has moved, and reads a page with one statement and one snapshot
 * </pre>
 *
 * <p>The injected FeedReader is the first. A page never skips: sequence ids follow commit order and have no gap.
 */
public interface FeedReader {

    /**
     * Reads as many records as fit into {@link FeedQuery#maxBytes}, but at least one.
     *
     * @param held {@link FeedQuery#firstMemory} or more. It grows with the page; if it cannot, the page becomes shorter. Null
     *     if the caller reserved {@link FeedQuery#memory}
     * @return fails with {@code feed-rewound} if the cursor no longer matches the feed, and with {@code records-expired} if
     *     records that the client has not read have expired
     */
    Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held);

    /** The caller reserves {@link FeedQuery#memory}. */
    default Uni<FeedPage> read(UUID projectId, FeedQuery query) {
        return read(projectId, query, null);
    }

    /**
     * Reads in one database alone, wherever the map says that a project is. For loops: rows of a database may name projects of another.
     *
     * @return a reader that fails with {@link dev.annals.kernel.database.ElsewhereException} if the database does not have the project
     */
    FeedReader in(Database database);

    /** Proves that pages contain what the log contains, and leave nothing out. */
    interface PageProver {

        /** The page ends at the checkpoint's last record at the latest. Its records have seeds or salts. */
        record Proved(FeedPage page, JsonBody.Content proof) {}

        /**
         * Reads without filters, oldest first.
         *
         * @param size of the checkpoint
         * @return fails with {@code log-behind}, {@code log-forked} or {@code log-halted}, or like {@link FeedReader#read}
         */
        Uni<Proved> read(UUID projectId, FeedQuery query, long size);
    }
}
