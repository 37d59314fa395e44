package dev.annals.derived.facets;

import dev.annals.core.query.Filter;
import dev.annals.derived.search.SearchIndex;
import dev.annals.kernel.config.Settings;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.util.Map;
import java.util.UUID;

/** Lends the benchmarks facets as the service counts them. */
public final class FacetCounts {

    private static final int TOP = 10;

    private final Facets facets;

    public FacetCounts(Pool pool, SearchIndex index) {
        facets = new Facets(pool, index, Settings.of(FacetsConfig.class, Map.of()));
    }

    /** The answer, as JSON. */
    public Uni<byte[]> count(UUID projectId, Filter filter) {
        return facets.count(projectId, new FacetsRequest(filter, null, TOP, List.of()), bytes -> true);
    }
}
