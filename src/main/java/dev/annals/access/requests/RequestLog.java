package dev.annals.access.requests;

import dev.annals.access.caller.Caller;
import dev.annals.kernel.connection.TrustedProxies;
import dev.annals.kernel.http.RequestProblem;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter.MeterProvider;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.http.Outcome;
import io.quarkus.vertx.http.ManagementInterface;
import io.smallrye.common.vertx.VertxContext;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.ws.rs.container.ResourceInfo;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jboss.resteasy.reactive.server.ServerRequestFilter;
import org.jspecify.annotations.Nullable;

/**
 * Logs each request at its end, measures its time, and counts refusals by cause. The time of a live stream is the time of its
 * connection.
 */
@ApplicationScoped
class RequestLog {

    /** A few seconds of a busy service, and a few MiB. */
    private static final int QUEUE = 8_192;

    private static final Logger LOG = Logger.getLogger(RequestLog.class);

    /** Load balancers request these every few seconds. They are logged only if they fail. */
    private static final String PROBES = "/q/health";

    /** On the management port. */
    private static final List<String> MANAGEMENT = List.of(PROBES, "/q/metrics");

    private static final String OPERATION = Operation.class.getName();

    private static final String TRACE = RequestLine.Trace.class.getName();

    /** Callers can invent others, which share a label. */
    private static final Set<String> METHODS = Set.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS");

    /** Prometheus estimates percentiles from them over all instances. Each one is a series per operation and status. */
    private static final Duration[] BUCKETS = Stream.of(2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000)
            .map(Duration::ofMillis)
            .toArray(Duration[]::new);

    private final LoggingConfig config;
    private final MeterRegistry metrics;
    private final TrustedProxies proxies;
    private final MeterProvider<Timer> times;
    private final LogQueue queue;
    private final AtomicInteger active;

    @SuppressWarnings("SystemOut") // where container platforms and journals take the log from
    RequestLog(LoggingConfig config, MeterRegistry metrics, TrustedProxies proxies) {
        this.proxies = proxies;
        this.config = config;
        this.metrics = metrics;
        this.times = Timer.builder("http.server.requests")
                .description("HTTP server request processing time")
                .serviceLevelObjectives(BUCKETS)
                .withRegistry(metrics);
        this.queue = new LogQueue(QUEUE, System.out);
        FunctionCounter.builder("annals.requests.log.dropped", queue, LogQueue::dropped)
                .description("Lines of the log that were left out because standard output was behind")
                .register(metrics);
        this.active = Objects.requireNonNull(metrics.gauge("http.server.active.requests", new AtomicInteger()));
        queue.open(config.format());
    }

    // First of all handlers, to measure the others.
    void register(@Observes Router router) {
        router.route().order(Integer.MIN_VALUE).handler(routing -> {
            long began = System.nanoTime();
            active.incrementAndGet();
            Context context = Vertx.currentContext();
            if (context != null && VertxContext.isDuplicatedContext(context)) {
                // Lines that the request causes find its trace.
                context.putLocal(TRACE, routing);
            }
            routing.addEndHandler(end -> ended(routing, System.nanoTime() - began, end.succeeded()));
            routing.next();
        });
    }

    void registerManagement(@Observes ManagementInterface management) {
        management.router().route().order(Integer.MIN_VALUE).handler(routing -> {
            long began = System.nanoTime();
            String route = MANAGEMENT.stream()
                    .filter(known -> path(routing).startsWith(known))
                    .findFirst()
                    .orElse(Operation.OTHER.route());
            routing.addEndHandler(end -> measure(routing, route, System.nanoTime() - began, end.succeeded()));
            routing.next();
        });
    }

    // Before TokenFilter.
    @ServerRequestFilter(priority = 0)
    void matched(ResourceInfo resource, RoutingContext routing) {
        routing.put(OPERATION, Operation.of(resource.getResourceMethod()));
    }

    private void ended(RoutingContext routing, long nanos, boolean whole) {
        active.decrementAndGet();
        Operation operation =
                Optional.ofNullable(routing.<@Nullable Operation>get(OPERATION)).orElse(Operation.OTHER);
        measure(routing, operation.route(), nanos, whole);
        int status = routing.response().getStatusCode();
        Optional<String> cause = RequestProblem.of(routing);
        if (status >= 400) {
            metrics.counter("annals.refusals", "cause", cause.orElse("other")).increment();
        }
        if (config.requests() && !(status < 400 && path(routing).startsWith(PROBES))) {
            // The thread that writes the line formats it. In JSON, the values are fields.
            LOG.infof(
                    config.format() == LogFormat.JSON ? "A request has ended" : "%s",
                    line(routing, operation, nanos, outcome(status, whole), cause.orElse(null)));
        }
    }

    // A series lives for ever. The framework's labels would contain invented methods and paths.
    private void measure(RoutingContext routing, String route, long nanos, boolean whole) {
        String method = routing.request().method().name();
        int status = routing.response().getStatusCode();
        Outcome outcome = whole ? Outcome.forStatus(status) : Outcome.CLIENT_ERROR;
        times.withTags(Tags.of("method", METHODS.contains(method) ? method : "OTHER", "uri", route)
                        .and("status", whole ? Integer.toString(status) : "RESET")
                        .and(outcome.asTag()))
                .record(Duration.ofNanos(nanos));
    }

    /** The trace of the request on whose context this thread works; null without one. */
    static @Nullable String currentTrace() {
        Context context = Vertx.currentContext();
        if (context == null || !VertxContext.isDuplicatedContext(context)) {
            return null;
        }
        RoutingContext routing = context.getLocal(TRACE);
        return routing == null ? null : trace(routing).id();
    }

    /** The same for all lines of a request. */
    private static RequestLine.Trace trace(RoutingContext routing) {
        RequestLine.@Nullable Trace known = routing.get(TRACE);
        if (known == null) {
            known = RequestLine.Trace.of(routing.request().headers().getAll("traceparent"));
            routing.put(TRACE, known);
        }
        return known;
    }

    private static String path(RoutingContext routing) {
        return Optional.ofNullable(routing.request().path()).orElse("");
    }

    private static RequestLine.Outcome outcome(int status, boolean whole) {
        if (!whole) {
            return RequestLine.Outcome.CLOSED;
        }
        return status < 400
                ? RequestLine.Outcome.SUCCESS
                : status < 500 ? RequestLine.Outcome.REFUSED : RequestLine.Outcome.FAILED;
    }

    private RequestLine line(
            RoutingContext routing,
            Operation operation,
            long nanos,
            RequestLine.Outcome outcome,
            @Nullable String cause) {
        HttpServerRequest request = routing.request();
        Optional<Caller> caller = Caller.ofRequest(routing);
        @Nullable String agent = request.getHeader("User-Agent");
        return new RequestLine(
                trace(routing),
                RequestLine.cut(request.method().name(), RequestLine.MAX_METHOD),
                operation.name(),
                // The query may name people.
                RequestLine.cut(path(routing), RequestLine.MAX_PATH),
                routing.response().getStatusCode(),
                outcome,
                cause,
                caller.map(Caller::projectId).orElse(null),
                caller.map(Caller::token).orElse(null),
                proxies.client(request),
                agent == null ? null : RequestLine.cut(agent, RequestLine.MAX_AGENT),
                nanos,
                request.bytesRead(),
                routing.response().bytesWritten());
    }

    @PreDestroy
    void close() {
        queue.close();
    }
}
