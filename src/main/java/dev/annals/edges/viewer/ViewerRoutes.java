package dev.annals.edges.viewer;

import dev.annals.access.look.Looks;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.ProgramFile;
import io.quarkus.runtime.LaunchMode;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Serves the viewer's files from META-INF/resources. Quarkus would open the file for each client; this keeps them in memory.
 *
 * <p>The page shows hostile text, so its Content-Security-Policy allows only its own scripts, styles, pictures and API, no scripts made
 * from strings, and frames only on pages of the origins in the settings, and none of the administration. A page that a link to a
 * project opens has that project's embedders instead.
 */
@ApplicationScoped
public class ViewerRoutes {

    private static final String CONTENT_SECURITY_POLICY = "default-src 'none'; script-src 'self'; style-src 'self';"
            + " img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
            + " require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors ";

    private static final String FOLDER = "/META-INF/resources/";
    private static final List<String> FILES = List.of(
            "index.html",
            "viewer.css",
            "icon.svg",
            "actions.js",
            "address.js",
            "admin.css",
            "admin.html",
            "admin.js",
            "admin-alerts.js",
            "admin-form.js",
            "admin-holds.js",
            "admin-projects.js",
            "admin-streams.js",
            "admin-tokens.js",
            "api.js",
            "changes.js",
            "chart.js",
            "columns.js",
            "complete.js",
            "detail.js",
            "facets.js",
            "feed.js",
            "filters.js",
            "look.js",
            "projects.js",
            "proof.js",
            "query.js",
            "record.js",
            "recorders.js",
            "rows.js",
            "session.js",
            "share.js",
            "status.js",
            "store.js",
            "streams.js",
            "text.js",
            "times.js",
            "verify.js",
            "viewer.js",
            "views.js");

    private static final Map<String, String> MEDIA_TYPES = Map.of(
            "html", "text/html;charset=UTF-8",
            "css", "text/css;charset=UTF-8",
            "js", "text/javascript;charset=UTF-8",
            "svg", "image/svg+xml");

    private static final Map<String, String> HEADERS = Map.of(
            "Referrer-Policy", "no-referrer",
            "Cross-Origin-Opener-Policy", "same-origin",
            "Cross-Origin-Resource-Policy", "same-origin",
            // Browsers check the ETag each time, so that a new release shows at once.
            "Cache-Control", "no-cache");

    /** Before the route of Quarkus for the same files. */
    private static final int ORDER = -1;

    /** In a frame, a page of another origin could make an administrator click. A link's page has no administrator's token. */
    private static final String UNFRAMED = "/admin.html";

    private static final Set<String> PAGES = Set.of("/", "/index.html", UNFRAMED);

    /**
     * The query of a page that a link to a project opens. The page's script knows it by the same pattern (api.js). Such a page uses no
     * session and no token of the browser, so that other pages may embed it.
     */
    private static final Pattern OF_PROJECT = Pattern.compile("project=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})");

    private final Looks looks;
    private final List<String> ancestors;
    /** Read at the first request. */
    private final Map<String, ProgramFile> read = new ConcurrentHashMap<>();

    ViewerRoutes(ViewerConfig config, Looks looks) {
        this.looks = looks;
        this.ancestors = config.frameAncestors().orElse(List.of());
    }

    static String policy(String path, List<String> ancestors) {
        boolean none = ancestors.isEmpty() || path.equals(UNFRAMED);
        return CONTENT_SECURITY_POLICY + (none ? "'none'" : String.join(" ", ancestors));
    }

    void register(@Observes Router router) {
        String paths = FILES.stream().map(Pattern::quote).collect(Collectors.joining("|", "/(", ")?"));
        router.routeWithRegex(paths).order(ORDER).handler(this::answer);
    }

    private void answer(RoutingContext routing) {
        HttpMethod method = routing.request().method();
        if (method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD)) {
            HEADERS.forEach(routing.response()::putHeader);
            String query = routing.request().query();
            Matcher ofProject = OF_PROJECT.matcher(query == null ? "" : query);
            if (PAGES.contains(routing.normalizedPath()) && ofProject.matches()) {
                // A stored page would keep the policy of its first answer.
                routing.response().putHeader("Cache-Control", "no-store");
                looks.embedders(UUID.fromString(ofProject.group(1)))
                        .subscribe()
                        .with(embedders -> serve(routing, policy("/", embedders)), routing::fail);
            } else {
                serve(routing, policy(routing.normalizedPath(), ancestors));
            }
        } else {
            routing.response().putHeader("Allow", "GET, HEAD");
            routing.fail(new ProblemException(
                    ProblemType.METHOD_NOT_ALLOWED, "The viewer's files can only be read: use GET or HEAD."));
        }
    }

    private void serve(RoutingContext routing, String policy) {
        if (!routing.response().closed()) {
            routing.response().putHeader("Content-Security-Policy", policy);
            if (LaunchMode.current() == LaunchMode.DEVELOPMENT) {
                // Quarkus shows edits at once.
                routing.next();
            } else {
                read.computeIfAbsent(routing.normalizedPath(), ViewerRoutes::read)
                        .answer(routing.request());
            }
        }
    }

    private static ProgramFile read(String path) {
        String name = path.equals("/") ? "index.html" : path.substring(1);
        String mediaType = Objects.requireNonNull(MEDIA_TYPES.get(name.substring(name.indexOf('.') + 1)), name);
        return new ProgramFile(FOLDER + name, mediaType);
    }
}
