package dev.annals.kernel.http;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.io.IOException;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Answers with problems if no resource is reached: for unknown addresses and for failing handlers. */
@ApplicationScoped
public class ProblemRoutes {

    private static final Logger LOG = Logger.getLogger(ProblemRoutes.class);

    void register(@Observes Router router) {
        router.route().order(Integer.MIN_VALUE).failureHandler(ProblemRoutes::failed);
        router.errorHandler(404, routing -> answer(routing, ProblemMapper.ofStatus(404)));
    }

    private static void failed(RoutingContext routing) {
        @Nullable Throwable cause = routing.failure();
        HttpServerResponse response = routing.response();
        if (response.closed() || (response.headWritten() && cause instanceof IOException)) {
            // The client has gone. Nothing failed here.
            LOG.debugf(
                    cause, "%s was not answered to its end", routing.request().method());
            if (!response.closed()) {
                response.reset();
            }
            return;
        }
        boolean tellsStatus = routing.statusCode() >= 400 && routing.statusCode() < 500;
        if (cause == null || (tellsStatus && !(cause instanceof ProblemException))) {
            answer(routing, ProblemMapper.ofStatus(routing.statusCode()));
        } else {
            String request =
                    routing.request().method() + " " + routing.request().path();
            answer(routing, ProblemMapper.of(request, cause));
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
        RequestProblem.note(routing, problem);
        response.setStatusCode(problem.status());
        problem.headers().forEach(response::putHeader);
        response.end(Buffer.buffer(problem.toJson()));
    }
}
