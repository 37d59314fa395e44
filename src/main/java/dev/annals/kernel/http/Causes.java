package dev.annals.kernel.http;

import io.vertx.ext.web.RoutingContext;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The problem that a request is answered with, noted for the log and the metrics of requests. */
public final class Causes {

    private static final String KEY = Causes.class.getName();

    private Causes() {}

    /** Notes the problem of a request. The first one counts. */
    static void note(RoutingContext routing, Problem problem) {
        if (routing.get(KEY) == null) {
            routing.put(KEY, problem.type());
        }
    }

    /** The type of the problem that a request was answered with, such as {@code queue-full}; one of {@link ProblemType}. */
    public static Optional<String> of(RoutingContext routing) {
        @Nullable ProblemType type = routing.get(KEY);
        return Optional.ofNullable(type)
                .map(t -> t.name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }
}
