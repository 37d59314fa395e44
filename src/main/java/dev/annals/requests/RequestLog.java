package dev.annals.requests;

import dev.annals.http.Causes;
import dev.annals.project.Caller;
import dev.annals.requests.RequestLine.Outcome;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Logs each request when it has ended, and counts what was refused by its cause. The time of a request that follows a feed is
 * that of its connection.
 */
@ApplicationScoped
class RequestLog {

    /** Asked every few seconds by load balancers and container platforms, and logged only if they fail. */
    private static final String PROBES = "/q/health";

    private final Operations operations = Operations.ofContract();
    private final MeterRegistry metrics;
    private final @Nullable LineWriter<RequestLine> writer;

    @SuppressWarnings("SystemOut") // where container platforms and journals take it from
    RequestLog(RequestsConfig config, MeterRegistry metrics) {
        this.metrics = metrics;
        this.writer = switch (config.log()) {
            case TEXT -> new LineWriter<>(config.logQueue(), RequestLine::asText, System.out);
            case JSON -> new LineWriter<>(config.logQueue(), RequestLine::asJson, System.out);
            case OFF -> null;
        };
        FunctionCounter.builder(
                        "annals.requests.log.dropped", this, log -> log.writer == null ? 0 : log.writer.dropped())
                .description("Lines of the log of requests that were left out because standard output was behind")
                .register(metrics);
    }

    // Before everything else, to see what that does and how long it takes.
    void register(@Observes Router router) {
        router.route().order(Integer.MIN_VALUE).handler(this::begin);
    }

    private void begin(RoutingContext routing) {
        long began = System.nanoTime();
        routing.addEndHandler(end -> ended(routing, System.nanoTime() - began, end.succeeded()));
        routing.next();
    }

    private void ended(RoutingContext routing, long nanos, boolean whole) {
        int status = routing.response().getStatusCode();
        Outcome outcome = outcome(status, whole);
        Optional<String> cause = Causes.of(routing);
        if (status >= 400) {
            metrics.counter("annals.refusals", "cause", cause.orElse("other")).increment();
        }
        if (writer != null && !(status < 400 && isProbe(routing.request()))) {
            writer.offer(line(routing, nanos, status, outcome, cause.orElse(null)));
        }
    }

    private static boolean isProbe(HttpServerRequest request) {
        return request.path() != null && request.path().startsWith(PROBES);
    }

    private static Outcome outcome(int status, boolean whole) {
        if (!whole) {
            return Outcome.CLOSED;
        }
        return status < 400 ? Outcome.SUCCESS : status < 500 ? Outcome.REFUSED : Outcome.FAILED;
    }

    private RequestLine line(RoutingContext routing, long nanos, int status, Outcome outcome, @Nullable String cause) {
        HttpServerRequest request = routing.request();
        String method = request.method().name();
        // Without the query: it may name people.
        String path = request.path() == null ? "" : request.path();
        Optional<Caller> caller = Caller.ofRequest(routing);
        @Nullable String agent = request.getHeader("User-Agent");
        @Nullable SocketAddress address = request.remoteAddress();
        return new RequestLine(
                Instant.now(),
                Trace.of(request.headers().getAll("traceparent")),
                RequestLine.cut(method, RequestLine.MAX_METHOD),
                operations.at(method, path),
                RequestLine.cut(path, RequestLine.MAX_PATH),
                status,
                outcome,
                cause,
                caller.map(Caller::projectId).orElse(null),
                caller.map(Caller::token).orElse(null),
                RequestLine.cut(address == null ? "" : String.valueOf(address.hostAddress()), RequestLine.MAX_ADDRESS),
                agent == null ? null : RequestLine.cut(agent, RequestLine.MAX_AGENT),
                nanos,
                request.bytesRead(),
                routing.response().bytesWritten());
    }

    @PreDestroy
    void close() {
        if (writer != null) {
            writer.close();
        }
    }
}
