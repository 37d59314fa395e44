package dev.annals.kernel.http;

import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.ws.rs.core.MediaType;
import java.util.regex.Pattern;

/** Handles what the head of a request asks of HTTP itself, before any operation. */
@ApplicationScoped
class RequestHead {

    private static final Pattern QUALITY = Pattern.compile("0(\\.[0-9]{0,3})?|1(\\.0{0,3})?");
    private static final String CONTINUE = "100-continue";

    void register(@Observes Router router) {
        router.route().order(Integer.MIN_VALUE).handler(RequestHead::prepare);
    }

    private static void prepare(RoutingContext routing) {
        MultiMap headers = routing.request().headers();
        if (headers.getAll(HttpHeaders.HOST).size() > 1) {
            routing.fail(400);
            return;
        }
        if (!headers.getAll(HttpHeaders.ACCEPT).stream().allMatch(RequestHead::isReadable)) {
            // Without the header, any media type will do. The framework would fail.
            headers.set(HttpHeaders.ACCEPT, MediaType.WILDCARD);
        }
        if (expectsContinue(routing.request())) {
            // After a refusal the body may or may not follow, so the connection cannot be used again.
            routing.response().putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE);
        }
        routing.next();
    }

    private static boolean isReadable(String accept) {
        try {
            for (String element : accept.split(",", -1)) {
                String q = MediaType.valueOf(element.strip()).getParameters().get("q");
                if (q != null && !QUALITY.matcher(q).matches()) {
                    return false;
                }
            }
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static boolean expectsContinue(HttpServerRequest request) {
        return request.version() == HttpVersion.HTTP_1_1
                && request.headers().contains(HttpHeaders.EXPECT, CONTINUE, true);
    }

    static void askForBody(HttpServerRequest request) {
        if (expectsContinue(request)) {
            request.response().headers().remove(HttpHeaders.CONNECTION);
            request.response().writeContinue();
        }
    }
}
