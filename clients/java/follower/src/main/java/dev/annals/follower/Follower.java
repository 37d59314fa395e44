package dev.annals.follower;

import jakarta.annotation.Nullable;
import java.time.Duration;
import java.util.List;

/**
 * Follows a feed from the cursor of a {@link Store}, and hands it page after page, in the feed's order.
 *
 * <p>Each {@link Store#save save} gets exactly the records after the cursor of the last save that succeeded. A store that saves the cursor
 * and the effect of the records in one transaction handles every record exactly once, even if its process dies. A store that saves them
 * separately may get the records of its last page again.
 *
 * <p>One follower per store. Not for {@code order=desc}.
 *
 * @param <R> a record
 */
public final class Follower<R> {

    private final Pages<R> pages;
    private final Store<R> store;

    /** Reads pages, always with the same limit and filters. */
    @FunctionalInterface
    public interface Pages<R> {
        /**
         * Reads the page after the cursor; the feed's first page if the cursor is null.
         *
         * @throws Unavailable if a retry may help
         */
        Page<R> read(@Nullable String cursor) throws Exception;
    }

    /** Stores the effect of records, and the cursor behind them. */
    public interface Store<R> {
        /** Null before the first save. */
        @Nullable
        String cursor() throws Exception;

        /**
         * Saves both or neither, and durably before it returns.
         *
         * @param records in the feed's order, may be empty
         */
        void save(List<R> records, String cursor) throws Exception;
    }

    public Follower(Pages<R> pages, Store<R> store) {
        this.pages = pages;
        this.store = store;
    }

    /**
     * Reads one page and saves it.
     *
     * @return whether the feed has another page now
     */
    public boolean step() throws Exception {
        String cursor = store.cursor();
        Page<R> page = pages.read(cursor);
        if (!page.records().isEmpty() || !page.behind().equals(cursor)) {
            store.save(page.records(), page.behind());
        }
        return page.next() != null;
    }

    /**
     * Follows the feed until the thread is interrupted. While the service is {@link Unavailable}, it retries after {@link Pauses}.
     *
     * @param pause between polls at the end of the feed
     * @throws Exception any other failure, which a retry does not cure
     */
    public void run(Duration pause) throws Exception {
        Pauses pauses = new Pauses();
        while (!Thread.currentThread().isInterrupted()) {
            Duration wait;
            try {
                wait = step() ? Duration.ZERO : pause;
                pauses.worked();
            } catch (Unavailable failure) {
                wait = pauses.after(failure);
            }
            Thread.sleep(wait.toMillis());
        }
    }
}
