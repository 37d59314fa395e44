package dev.annals.core.feed;

import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import java.util.UUID;

/** Proves that pages are the log's and leave nothing out. */
public interface PageProver {

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
     * @return fails with {@code log-behind}, {@code log-forked} or {@code log-halted}, or as {@link FeedReader#read} does
     */
    Uni<Proved> read(UUID projectId, FeedQuery query, long size);
}
