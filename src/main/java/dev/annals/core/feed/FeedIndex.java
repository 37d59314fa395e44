package dev.annals.core.feed;

import dev.annals.core.query.Filter;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Says where in a feed to look for records that pass a filter. It never leaves out a record that passes; the records themselves
 * decide.
 */
public interface FeedIndex {

    /**
     * Where to look for records after a place; the place itself comes first, if there is one.
     *
     * @param limit how many records are wanted
     */
    Uni<ScanPlan> planOn(UUID projectId, long behind, Filter filter, int limit);

    /** Where to look for records before a place, which itself comes first; from the head on if there is none. */
    Uni<ScanPlan> planBack(UUID projectId, @Nullable Long before, Filter filter, int limit);

    /** The same index as another server has it. */
    FeedIndex readBy(Pool pool);
}
