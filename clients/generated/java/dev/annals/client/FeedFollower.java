package dev.annals.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.annals.client.model.AuditRecord;
import dev.annals.client.model.ProjectLogPage;
import dev.annals.follower.Follower;
import dev.annals.follower.Page;
import dev.annals.follower.Unavailable;
import jakarta.annotation.Nullable;
import java.time.Duration;
import java.util.List;

/**
 * Follows a feed from the cursor of a {@link Store}, as {@link Follower} promises: a {@link FeedFile} stores every record
 * exactly once, and so does a database that keeps records and cursor in one transaction.
 */
public final class FeedFollower {
    private final Follower<AuditRecord> follower;

    /** Reads a page: {@code listProjectLogs} with this cursor, and always with the same limit and filters. */
    @FunctionalInterface
    public interface Pages {
        /** The page after the cursor; the feed's first page if the cursor is null. */
        ProjectLogPage read(@Nullable String cursor) throws ApiException;
    }

    /** Stores the records together with the cursor. */
    public interface Store extends Follower.Store<AuditRecord> {}

    /** A store that also keeps the newest checkpoint of the log, in the same step. */
    public interface VerifiedStore extends Store {
        /** The checkpoint that was saved last; null if there is none. */
        @Nullable
        String checkpoint() throws Exception;

        /**
         * Saves the cursor, the effect of the records, and the checkpoint: all or nothing, and durably before it returns.
         *
         * @param records in the feed's order, perhaps none
         * @param checkpoint a text of a few hundred characters or a few thousand
         */
        void save(List<AuditRecord> records, String cursor, String checkpoint) throws Exception;
    }

    /** A follower of these pages into this store. */
    public FeedFollower(Pages pages, Store store) {
        this(new Follower<>(cursor -> read(pages, cursor), store));
    }

    private FeedFollower(Follower<AuditRecord> follower) {
        this.follower = follower;
    }

    /**
     * A follower that passes on only records that the log proves: the log has signed these records in this order, none is left
     * out, and the log continues the one that this store has seen before. Otherwise {@link #step} and {@link #run} throw a {@link
     * FeedNotProvedException}.
     *
     * <p>At the end of the feed a step waits for a record, up to 30 seconds.
     *
     * @param client of the service
     * @param vkeys the log's key, which came another way than what is verified with it; two while the operator replaces it
     * @throws IllegalArgumentException if these are not the keys of one log, or not of the log of the store's checkpoint
     */
    public static FeedFollower verifying(ApiClient client, VerifiedStore store, String... vkeys) throws Exception {
        ProvedFeed feed = new ProvedFeed(client, store.checkpoint(), List.of(vkeys));
        return new FeedFollower(new Follower<>(feed::read, new Store() {
            @Override
            public String cursor() throws Exception {
                return store.cursor();
            }

            @Override
            public void save(List<AuditRecord> records, String cursor) throws Exception {
                store.save(records, cursor, feed.checkpoint());
            }
        }));
    }

    /**
     * Reads one page and saves it.
     *
     * @return whether there is more already
     * @throws Unavailable if asking again may help; nothing was saved
     * @throws ApiException if the page cannot be read; then nothing was saved
     */
    public boolean step() throws Exception {
        return follower.step();
    }

    /**
     * Follows the feed until the thread is interrupted. If the service cannot be reached or is not available, it is asked
     * again: after the time it names, otherwise after a growing pause.
     *
     * @param pause between polls at the end of the feed
     * @throws ApiException any other problem, such as {@code feed-rewound}, which needs your decision
     * @throws FeedNotProvedException if the follower verifies, and something is not as the log has signed it
     */
    public void run(Duration pause) throws Exception {
        follower.run(pause);
    }

    private static Page<AuditRecord> read(Pages pages, @Nullable String cursor) throws ApiException, Unavailable {
        try {
            ProjectLogPage page = pages.read(cursor);
            String next = page.getNext() == null ? null : page.getNext().toString();
            return new Page<>(page.getResults(), next, page.getPollMore().toString());
        } catch (ApiException e) {
            if (!Unavailable.isStatus(e.getCode()) && !isUnreachable(e)) {
                throw e;
            }
            String retryAfter = e.getResponseHeaders() == null
                    ? null
                    : e.getResponseHeaders().firstValue("Retry-After").orElse(null);
            throw new Unavailable(e.getMessage(), retryAfter, e);
        }
    }

    private static boolean isUnreachable(ApiException failure) {
        return failure.getCode() == 0
                && !(failure.getCause() instanceof InterruptedException)
                && !(failure.getCause() instanceof JsonProcessingException);
    }
}
