package dev.annals.core.feed;

import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.connection.TrustedProxies;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.UriInfo;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Makes the absolute URLs in answers. They begin with the first of these that applies:
 *
 * <ol>
 *   <li>{@code ANNALS_PUBLIC_URL}
 *   <li>{@code X-Forwarded-Host} of a trusted proxy, if the header is well-formed and not repeated
 *   <li>the request's {@code Host}, if it is a loopback address
 *   <li>the address and port at which the connection arrived
 * </ol>
 *
 * <p>Any other {@code Host} is ignored: a client can forge it, and a link to it would send a token there.
 */
@ApplicationScoped
public class FeedLinks {

    public static final String PATH = "/v1/project-logs";

    private static final String SEGMENT = "(?!\\.{1,2}(/|$))[0-9A-Za-z._~-]+";
    private static final String PORT_FORM =
            "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]";
    private static final Logger LOG = Logger.getLogger(FeedLinks.class);
    private static final Pattern SCHEME = Pattern.compile("https?", Pattern.CASE_INSENSITIVE);
    private static final Pattern PORT = Pattern.compile(PORT_FORM);
    private static final Pattern AUTHORITY = Pattern.compile(
            "(?<host>[0-9A-Za-z_][0-9A-Za-z_.-]{0,252}|\\[[0-9A-Fa-f:.]{2,45}])(:(?<port>" + PORT_FORM + "))?");
    private static final Pattern PREFIX = Pattern.compile("(?=.{1,255}$)(/?|/?" + SEGMENT + "(/" + SEGMENT + ")*/?)");
    private static final Pattern LOOPBACK =
            Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|\\[(::1|0:0:0:0:0:0:0:1)]", Pattern.CASE_INSENSITIVE);

    private final @Nullable String publicUrl;
    private final TrustedProxies proxies;
    private final AtomicBoolean warned = new AtomicBoolean();

    FeedLinks(AnnalsConfig config, TrustedProxies proxies) {
        this.proxies = proxies;
        this.publicUrl =
                config.publicUrl().map(url -> url.replaceAll("/+$", "")).orElse(null);
    }

    public String record(HttpServerRequest request, UUID id) {
        return base(request) + PATH + "/" + id;
    }

    public String viewer(HttpServerRequest request) {
        return base(request) + "/";
    }

    /** Null if this page is the last. */
    @Nullable
    static String next(String base, UriInfo uri, FeedQuery query, FeedPage page) {
        Cursor next = page.next();
        if (next == null) {
            return null;
        }
        StringBuilder url = query.order() == Order.ASCENDING
                ? page(base, uri, next.toString(), false)
                : page(base, uri, next + "." + page.head(), true);
        add(url, uri.getQueryParameters(), FeedQuery.PROOF);
        return url.toString();
    }

    /** In ascending order, and with the parameter {@code wait} if this request has it. */
    static String pollMore(String base, UriInfo uri, FeedPage page) {
        StringBuilder url = page(base, uri, page.pollMore().toString(), false);
        add(url, uri.getQueryParameters(), FeedQuery.WAIT);
        return url.toString();
    }

    public String pollMore(HttpServerRequest request, UriInfo uri, Cursor cursor) {
        return page(base(request), uri, cursor.toString(), false).toString();
    }

    /** Adds a link to the oldest record that is left, if records have expired. */
    public Throwable withOldest(HttpServerRequest request, UriInfo uri, Throwable failure) {
        if (failure instanceof ProblemException e
                && e.problem().type() == ProblemType.RECORDS_EXPIRED
                && e.problem().members().get(DatabaseReader.OLDEST) instanceof Long oldest) {
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
        add(url, parameters, FeedQuery.LIMIT);
        FeedQuery.FILTERS.forEach(filter -> add(url, parameters, filter));
        return url;
    }

    private static void add(StringBuilder url, MultivaluedMap<String, String> parameters, String name) {
        String value = parameters.getFirst(name);
        if (value != null) {
            url.append('&').append(name).append('=').append(encoded(value));
        }
    }

    /** All but colons, which times contain and a query may contain. */
    private static String encoded(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("%3A", ":");
    }

    /** Without a slash at its end. */
    String base(HttpServerRequest request) {
        if (publicUrl != null) {
            return publicUrl;
        }
        String forwarded = proxies.header(request, "X-Forwarded-Proto", SCHEME);
        String scheme = forwarded == null ? request.scheme() : forwarded.toLowerCase(Locale.ROOT);
        String prefix = proxies.header(request, "X-Forwarded-Prefix", PREFIX);
        return scheme + "://" + authority(request, scheme) + (prefix == null ? "" : prefix(prefix));
    }

    private static String prefix(String forwarded) {
        String path = forwarded.startsWith("/") ? forwarded : "/" + forwarded;
        return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    }

    private String authority(HttpServerRequest request, String scheme) {
        String forwarded = proxies.header(request, "X-Forwarded-Host", AUTHORITY);
        String sent = request.getHeader(HttpHeaders.HOST);
        Matcher authority = AUTHORITY.matcher(forwarded != null ? forwarded : sent != null ? sent : "");
        if (!authority.matches()
                || (forwarded == null
                        && !LOOPBACK.matcher(authority.group("host")).matches())) {
            return ownAddress(request.localAddress());
        }
        String forwardedPort = proxies.header(request, "X-Forwarded-Port", PORT);
        String port = forwardedPort != null ? forwardedPort : authority.group("port");
        boolean isDefault = port == null || port.equals(scheme.equals("https") ? "443" : "80");
        return authority.group("host") + (isDefault ? "" : ":" + port);
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
