package dev.annals.problem;

import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jspecify.annotations.Nullable;

/**
 * Answers with problems where no resource is reached: a body that announces more bytes than it may have, an address
 * nobody serves, a handler that fails.
 */
@ApplicationScoped
public class ProblemRoutes {

    private static final int BEFORE_THE_RESOURCES = 1_000;

    private static final String STREAMED = "application/x-ndjson";

    @ConfigProperty(name = "annals.append.max-body-bytes")
    long maxBodyBytes;

    void register(@Observes Router router) {
        router.route().order(Integer.MIN_VALUE).failureHandler(ProblemRoutes::failed);
        router.errorHandler(404, routing -> answer(routing, ProblemMapper.ofStatus(404)));
    }

    void register(@Observes Filters filters) {
        filters.register(routing -> refuseLargeBody(routing, maxBodyBytes), BEFORE_THE_RESOURCES);
    }

    private static void refuseLargeBody(RoutingContext routing, long limit) {
        String announced = routing.request().getHeader("Content-Length");
        String type = routing.request().getHeader("Content-Type");
        boolean streamed = type != null && type.regionMatches(true, 0, STREAMED, 0, STREAMED.length());
        if (announced == null || streamed || Long.parseLong(announced) <= limit) {
            routing.next();
            return;
        }
        Problem problem = Problem.of(
                ProblemType.BODY_TOO_LARGE,
                "The body has " + announced + " bytes, and one request may have " + limit + ": send it in several");
        HttpServerResponse response = routing.response();
        response.putHeader("Connection", "close");
        response.endHandler(ended -> routing.request().connection().close());
        answer(routing, problem);
    }

    private static void failed(RoutingContext routing) {
        @Nullable Throwable cause = routing.failure();
        if (cause instanceof ProblemException e) {
            answer(routing, e.problem());
        } else if (cause == null || (routing.statusCode() >= 400 && routing.statusCode() < 500)) {
            answer(routing, ProblemMapper.ofStatus(routing.statusCode()));
        } else {
            String request =
                    routing.request().method() + " " + routing.request().path();
            answer(routing, ProblemMapper.unexpected(request, cause));
        }
    }

    private static void answer(RoutingContext routing, Problem problem) {
        HttpServerResponse response = routing.response();
        if (response.ended()) {
            return;
        }
        if (response.headWritten()) {
            response.reset();
            return;
        }
        response.setStatusCode(problem.status());
        problem.headers().forEach(response::putHeader);
        response.end(Buffer.buffer(problem.toJson()));
    }
}
