package dev.annals.feed;

import dev.annals.config.AnnalsConfig;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.search.Order;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.UriInfo;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The absolute URLs in answers. They begin with {@code ANNALS_PUBLIC_URL} if that is set, otherwise with what a trusted
 * proxy says in {@code X-Forwarded-Host}. Without either they begin with the request's own host if that is this machine's
 * loopback, otherwise with the address and port on which the connection came in. Anyone can make up a {@code Host}, and a
 * link to it would send a token there.
 */
@ApplicationScoped
public class FeedLinks {

    /** The path of every project's feed. */
    public static final String PATH = "/v1/project-logs";

    private static final Logger LOG = Logger.getLogger(FeedLinks.class);
    /** Set by Quarkus, which removes it from clients' requests. */
    private static final String TRUSTED_PROXY = "X-Forwarded-Trusted-Proxy";

    private static final String FORWARDED_HOST = "X-Forwarded-Host";
    private static final Pattern LOOPBACK =
            Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|\\[(::1|0:0:0:0:0:0:0:1)]", Pattern.CASE_INSENSITIVE);

    private final @Nullable String publicUrl;
    private final AtomicBoolean warned = new AtomicBoolean();

    FeedLinks(AnnalsConfig config) {
        this.publicUrl =
                config.publicUrl().map(url -> url.replaceAll("/+$", "")).orElse(null);
    }

    /** The URL of a record. */
    public String record(HttpServerRequest request, UriInfo uri, UUID id) {
        return base(request, uri) + PATH + "/" + id;
    }

    /** The URL of the viewer. */
    public String viewer(HttpServerRequest request, UriInfo uri) {
        return base(request, uri) + "/";
    }

    /** The page after this one, in the same order; null if there is none. The URL begins with {@link #base}. */
    @Nullable
    static String next(String base, UriInfo uri, FeedQuery query, FeedPage page) {
        Cursor next = page.next();
        if (next == null) {
            return null;
        }
        StringBuilder url = query.order() == Order.ASCENDING
                ? page(base, uri, next.toString(), false)
                : page(base, uri, next + "." + page.head(), true);
        add(url, uri.getQueryParameters(), FeedParameters.PROOF);
        return url.toString();
    }

    /**
     * Where new records will be found: always in ascending order, and with the parameter {@code wait} if this request has
     * it.
     */
    static String pollMore(String base, UriInfo uri, FeedPage page) {
        StringBuilder url = page(base, uri, page.pollMore().toString(), false);
        add(url, uri.getQueryParameters(), FeedParameters.WAIT);
        return url.toString();
    }

    /** Where the records after this cursor are found, with the filters of the request. */
    public String pollMore(HttpServerRequest request, UriInfo uri, Cursor cursor) {
        return page(base(request, uri), uri, cursor.toString(), false).toString();
    }

    /** A failure with a link to the oldest record that is left, where the records that were asked for have expired. */
    public Throwable withOldest(HttpServerRequest request, UriInfo uri, Throwable failure) {
        if (failure instanceof ProblemException e
                && e.problem().type() == ProblemType.RECORDS_EXPIRED
                && e.problem().members().get(FeedReader.OLDEST) instanceof Long oldest) {
            return new ProblemException(e.problem()
                    .with("oldest", pollMore(request, uri, new Cursor(oldest - 1, null))));
        }
        return failure;
    }

    private static StringBuilder page(String base, UriInfo uri, String cursor, boolean descending) {
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        StringBuilder url =
                new StringBuilder(base).append(PATH).append("?cursor=").append(cursor);
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

    /** Percent-encoded, except for the colons in times, which a query may contain as they are. */
    private static String encoded(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("%3A", ":");
    }

    /** What every URL in the answer to this request begins with, without a slash at its end. */
    String base(HttpServerRequest request, UriInfo uri) {
        if (publicUrl != null) {
            return publicUrl;
        }
        URI base;
        try {
            base = uri.getBaseUri();
        } catch (RuntimeException e) {
            // The framework only makes the URI now, and has no specific exception for it.
            throw new ProblemException(
                    ProblemType.OTHER,
                    "The header Host, or what a proxy says in its place, does not make a URL: send one that names this service.");
        }
        String host = base.getHost();
        boolean known = (host != null && LOOPBACK.matcher(host).matches()) || isFromTrustedProxy(request);
        String url = known
                ? base.toString()
                : base.getScheme() + "://" + ownAddress(request.localAddress()) + base.getRawPath();
        int end = url.length();
        while (url.charAt(end - 1) == '/') {
            end--;
        }
        return url.substring(0, end);
    }

    private static boolean isFromTrustedProxy(HttpServerRequest request) {
        String host = request.getHeader(FORWARDED_HOST);
        return host != null && !host.isBlank() && Boolean.parseBoolean(request.getHeader(TRUSTED_PROXY));
    }

    private String ownAddress(SocketAddress address) {
        if (!warned.getAndSet(true)) {
            LOG.warn(
                    "Links begin with the address that a connection comes in on, since ANNALS_PUBLIC_URL is not set: set it"
                            + " to the URL under which clients reach the service");
        }
        String host = address.hostAddress() == null ? address.host() : address.hostAddress();
        int zone = host.indexOf('%');
        String plain = zone < 0 ? host : host.substring(0, zone);
        return (plain.indexOf(':') < 0 ? plain : "[" + plain + "]") + ":" + address.port();
    }
}
