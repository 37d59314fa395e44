package dev.annals.kernel.http;

import io.vertx.ext.web.RoutingContext;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The problem of a request, stored for its log and metrics. */
public final class RequestProblem {

    private static final String KEY = RequestProblem.class.getName();

    private RequestProblem() {}

    /** The first problem counts. */
    static void note(RoutingContext routing, Problem problem) {
        if (routing.get(KEY) == null) {
            routing.put(KEY, problem.type());
        }
    }

    public static Optional<String> of(RoutingContext routing) {
        @Nullable ProblemType type = routing.get(KEY);
        return Optional.ofNullable(type)
                .map(t -> t.name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }
}
