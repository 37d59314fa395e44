package dev.annals.core.feed;

import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.memory.Reservation;
import io.smallrye.mutiny.Uni;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages of feeds. Three readers share this interface, because each answers the requests that it can answer more
 * cheaply and passes the others on:
 *
 * <pre>
 * StandbyReader    asks a hot standby that has replayed what the client has seen
 *    |
 * CachingReader    answers the ends of feeds from memory, after the database confirmed them
 *    |
 * DatabaseReader   reads a page with one statement and one snapshot
 * </pre>
 *
 * <p>The injected FeedReader is the first of them. A page never skips: sequence ids follow commit order and have no gap, so
 * the snapshot of a page contains every record before the page's last one.
 */
public interface FeedReader {

    /**
     * Reads a page: as many of the requested records as fit into {@link FeedQuery#maxBytes}, but at least one.
     *
     * @param held the page's memory, {@link FeedQuery#firstMemory} or more. It grows with the page; if it cannot, the page
     *     becomes shorter. Null if the caller reserved {@link FeedQuery#memory}
     * @return fails with a {@code feed-rewound} problem if the cursor no longer matches the feed, and with
     *     {@code records-expired} if records that the client has not read have expired
     */
    Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held);

    /** Reads a page within {@link FeedQuery#memory}, which the caller reserves. */
    default Uni<FeedPage> read(UUID projectId, FeedQuery query) {
        return read(projectId, query, null);
    }

    /** Proves that pages contain what the log contains, and leave nothing out. */
    interface PageProver {

        /**
         * A page that ends with the checkpoint's last record, at the latest.
         *
         * @param page its records have seeds or salts
         * @param proof the answer's member {@code proof}
         */
        record Proved(FeedPage page, JsonBody.Content proof) {}

        /**
         * Reads a page without filters, oldest first, and proves it.
         *
         * @param size of the checkpoint
         * @return fails with {@code log-behind}, {@code log-forked} or {@code log-halted}, or like {@link FeedReader#read}
         */
        Uni<Proved> read(UUID projectId, FeedQuery query, long size);
    }
}
