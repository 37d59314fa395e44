package dev.annals.viewer;

import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.util.Map;

/**
 * The headers of the viewer's files. Quarkus serves the files themselves, from META-INF/resources.
 *
 * <p>The page shows hostile text, so its policy is strict: only its own scripts, styles, pictures and API, no scripts made
 * from strings, and no frame around it but those of the origins that the settings name.
 */
@ApplicationScoped
public class ViewerRoutes {

    private static final String CONTENT_SECURITY_POLICY = "default-src 'none'; script-src 'self'; style-src 'self';"
            + " img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
            + " require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors ";

    private static final String FILES = "/(index\\.html|viewer\\.css|icon\\.svg|[a-z]+\\.js)?";

    private static final Map<String, String> HEADERS = Map.of(
            "Referrer-Policy", "no-referrer",
            "Cross-Origin-Opener-Policy", "same-origin",
            "Cross-Origin-Resource-Policy", "same-origin",
            // Cached, but checked by Last-Modified each time: a new release shows at once.
            "Cache-Control", "no-cache");

    /** Before the route of Quarkus that sends the files. */
    private static final int ORDER = -1;

    private final String policy;

    ViewerRoutes(ViewerConfig config) {
        this.policy = CONTENT_SECURITY_POLICY
                + config.frameAncestors()
                        .map(ancestors -> String.join(" ", ancestors))
                        .orElse("'none'");
    }

    String policy() {
        return policy;
    }

    void register(@Observes Router router) {
        router.routeWithRegex(FILES).order(ORDER).handler(this::prepare);
    }

    private void prepare(RoutingContext routing) {
        HttpMethod method = routing.request().method();
        if (method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD)) {
            HEADERS.forEach(routing.response()::putHeader);
            routing.response().putHeader("Content-Security-Policy", policy);
            routing.next();
        } else {
            routing.response().putHeader("Allow", "GET, HEAD");
            routing.fail(new ProblemException(
                    ProblemType.METHOD_NOT_ALLOWED, "The viewer's files can only be read: use GET or HEAD."));
        }
    }
}
