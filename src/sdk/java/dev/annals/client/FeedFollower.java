package dev.annals.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.annals.client.model.AuditRecord;
import dev.annals.client.model.ProjectLogPage;
import dev.annals.follower.Follower;
import dev.annals.follower.Page;
import dev.annals.follower.Unavailable;
import jakarta.annotation.Nullable;
import java.time.Duration;

/**
 * Follows a feed from the cursor of a {@link Store}, as {@link Follower} promises: a {@link FeedFile} takes in every record
 * exactly once, and so does a database that keeps records and cursor in one transaction.
 */
public final class FeedFollower {
    private final Follower<AuditRecord> follower;

    /** How a page is read: {@code listProjectLogs} with this cursor, and always with the same limit and filters. */
    @FunctionalInterface
    public interface Pages {
        /** The page after the cursor; the feed's first page if the cursor is null. */
        ProjectLogPage read(@Nullable String cursor) throws ApiException;
    }

    /** What takes in the records, and knows how far it has come. */
    public interface Store extends Follower.Store<AuditRecord> {}

    /** A follower of these pages into this store. */
    public FeedFollower(Pages pages, Store store) {
        this.follower = new Follower<>(cursor -> read(pages, cursor), store);
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
