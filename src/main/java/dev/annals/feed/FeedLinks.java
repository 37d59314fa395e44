package dev.annals.feed;

import dev.annals.AnnalsConfig;
import dev.annals.feed.FeedQuery.Order;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.UriInfo;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The absolute URLs in answers. They begin with {@code ANNALS_PUBLIC_URL} where that is set, otherwise with what the
 * request was sent to, or with what a trusted proxy says of it.
 */
@ApplicationScoped
public class FeedLinks {

    /** The path of every project's feed. */
    public static final String PATH = "/v1/project-logs";

    private final @Nullable String publicUrl;

    FeedLinks(AnnalsConfig config) {
        this.publicUrl =
                config.publicUrl().map(url -> url.replaceAll("/+$", "")).orElse(null);
    }

    /** The URL of a record. */
    public String record(UriInfo uri, UUID id) {
        return base(uri) + PATH + "/" + id;
    }

    /** The page behind this one, in the same order; null where there is none. */
    @Nullable
    String next(UriInfo uri, FeedQuery query, FeedPage page) {
        Cursor next = page.next();
        if (next == null) {
            return null;
        }
        return query.order() == Order.ASCENDING
                ? page(uri, next.toString(), false).toString()
                : page(uri, next + "." + page.head(), true).toString();
    }

    /** Where new records will be found: always in ascending order, and waiting for them where this request may wait. */
    String pollMore(UriInfo uri, FeedPage page) {
        StringBuilder url = page(uri, page.pollMore().toString(), false);
        add(url, uri.getQueryParameters(), FeedParameters.WAIT);
        return url.toString();
    }

    private StringBuilder page(UriInfo uri, String cursor, boolean descending) {
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        StringBuilder url =
                new StringBuilder(base(uri)).append(PATH).append("?cursor=").append(cursor);
        if (descending) {
            url.append("&order=desc");
        }
        add(url, parameters, FeedParameters.LIMIT);
        FeedParameters.FILTERS.forEach(filter -> add(url, parameters, filter));
        return url;
    }

    private static void add(StringBuilder url, MultivaluedMap<String, String> parameters, String name) {
        String value = parameters.getFirst(name);
        if (value != null) {
            url.append('&').append(name).append('=').append(encoded(value));
        }
    }

    /** Percent-encoded but for the colons of times, which a query may have as they are. */
    private static String encoded(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("%3A", ":");
    }

    private String base(UriInfo uri) {
        if (publicUrl != null) {
            return publicUrl;
        }
        try {
            return uri.getBaseUri().toString().replaceAll("/+$", "");
        } catch (RuntimeException e) {
            // The framework makes the URI only now, and declares no exception of its own.
            throw new ProblemException(
                    ProblemType.OTHER,
                    "The header Host, or what a proxy says in its place, makes no URL: send one that names this service.");
        }
    }
}
