package dev.annals.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.annals.client.model.AuditRecord;
import dev.annals.client.model.ProjectLogPage;
import jakarta.annotation.Nullable;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * Follows a feed from where a {@link Store} stands: hands it page after page, in the feed's order.
 *
 * <p>What is promised: each {@link Store#save save} gets the records that stand behind the cursor of the last one that
 * succeeded, and no others. So a store that keeps the cursor and what it makes of the records in one step takes in
 * every record exactly once, whenever its process dies: a {@link FeedFile} does, and a database does in one
 * transaction. A store that does the one after the other may be given the records of its last page again, in the same
 * order; their sequence ids tell.
 *
 * <p>One follower to a store. Not for {@code order=desc}.
 */
public final class FeedFollower {
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

    private final Pages pages;
    private final Store store;

    /** How a page is read: {@code listProjectLogs} with this cursor, and always the same limit and filters. */
    @FunctionalInterface
    public interface Pages {
        /** The page behind the cursor; with null the feed's first one. */
        ProjectLogPage read(@Nullable String cursor) throws ApiException;
    }

    /** What takes the records in, and knows how far it came. */
    public interface Store {
        /** The cursor that was saved last; null where none was. */
        @Nullable
        String cursor() throws Exception;

        /**
         * Keeps the cursor and what is made of the records: both or neither, and durably before it returns.
         *
         * @param records in the feed's order, perhaps none
         */
        void save(List<AuditRecord> records, String cursor) throws Exception;
    }

    /** A follower of these pages into this store. */
    public FeedFollower(Pages pages, Store store) {
        this.pages = pages;
        this.store = store;
    }

    /**
     * Reads one page and saves it.
     *
     * @return whether there is more already
     * @throws ApiException where the page cannot be read; nothing was saved
     */
    public boolean step() throws Exception {
        String cursor = store.cursor();
        ProjectLogPage page = pages.read(cursor);
        String behind = cursorOf(page.getNext() == null ? page.getPollMore() : page.getNext());
        if (!page.getResults().isEmpty() || !behind.equals(cursor)) {
            store.save(page.getResults(), behind);
        }
        return page.getNext() != null;
    }

    /**
     * Follows the feed until the thread is interrupted. A service that cannot be reached or is not available is asked
     * again, after the time it names or else after a growing pause of at most 30 seconds.
     *
     * @param pause between polls at the end of the feed
     * @throws ApiException any other problem, such as {@code feed-rewound}, which needs a decision of yours
     */
    public void run(Duration pause) throws Exception {
        Duration wait = pause;
        while (!Thread.currentThread().isInterrupted()) {
            try {
                boolean more = step();
                wait = pause;
                if (more) {
                    continue;
                }
            } catch (ApiException e) {
                if (!isPassing(e)) {
                    throw e;
                }
                wait = waitAfter(e, wait);
            }
            Thread.sleep(wait.toMillis());
        }
    }

    private static boolean isPassing(ApiException failure) {
        boolean unreachable = failure.getCode() == 0
                && !(failure.getCause() instanceof InterruptedException)
                && !(failure.getCause() instanceof JsonProcessingException);
        return unreachable || failure.getCode() == 502 || failure.getCode() == 503 || failure.getCode() == 504;
    }

    private static Duration waitAfter(ApiException failure, Duration before) {
        String asked = failure.getResponseHeaders() == null
                ? ""
                : failure.getResponseHeaders().firstValue("Retry-After").orElse("");
        Duration wait = asked.matches("\\d{1,6}")
                ? Duration.ofSeconds(Long.parseLong(asked))
                : before.multipliedBy(2).plusMillis(100);
        return wait.compareTo(LONGEST_WAIT) < 0 ? wait : LONGEST_WAIT;
    }

    private static String cursorOf(URI page) {
        return Arrays.stream(page.getRawQuery().split("&"))
                .filter(parameter -> parameter.startsWith("cursor="))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("A page's link has no cursor: " + page))
                .substring("cursor=".length());
    }
}
