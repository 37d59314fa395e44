package dev.annals.edges.delivery;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

/**
 * Instance metadata, a container's endpoint and STS at one address. Each refuses a request that lacks what AWS requires. They give the
 * keys of {@link ObjectStore}, with session tokens that end.
 */
final class AwsEndpoints implements AutoCloseable {

    static final String ROLE = "arn:aws:iam::123456789012:role/annals";
    static final String CONTAINER_TOKEN = "the container's own";

    /** The requests, in their order: the method and the path, or the action. */
    final List<String> asked = new CopyOnWriteArrayList<>();
    /** The session tokens that were given, and their ends. */
    final Map<String, Instant> sessions = new ConcurrentHashMap<>();
    /** The time of new keys. */
    volatile Duration time = Duration.ofHours(1);
    /** The only web identity that STS takes. */
    volatile String webToken = "eyJ.first";

    volatile boolean isBroken;

    private final HttpServer server;
    private volatile String metadataToken = "";

    private final InstantSource clock;

    AwsEndpoints(InstantSource clock) throws IOException {
        this.clock = clock;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/latest/", exchange -> answer(exchange, this::metadata));
        server.createContext("/container", exchange -> answer(exchange, this::container));
        server.createContext("/sts/", exchange -> answer(exchange, this::sts));
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private interface Endpoint {
        /** The body of an answer; null for a refusal. */
        String answer(HttpExchange exchange) throws IOException;
    }

    private void answer(HttpExchange exchange, Endpoint endpoint) throws IOException {
        try (exchange) {
            asked.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
            String body = isBroken ? null : endpoint.answer(exchange);
            byte[] bytes =
                    (body == null ? "<Error><Code>AccessDenied</Code></Error>" : body).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(body == null ? 403 : 200, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    private String newSession() {
        String session = "session-" + sessions.size();
        sessions.put(session, clock.instant().plus(time));
        return session;
    }

    private String json() {
        String session = newSession();
        return "{\"Code\": \"Success\", \"AccessKeyId\": \"" + ObjectStore.ACCESS_KEY + "\", \"SecretAccessKey\": \""
                + ObjectStore.SECRET_KEY + "\", \"Token\": \"" + session + "\", \"Expiration\": \""
                + sessions.get(session)
                + "\"}";
    }

    private String metadata(HttpExchange exchange) {
        String path = exchange.getRequestURI().getPath();
        String seconds = exchange.getRequestHeaders().getFirst("X-aws-ec2-metadata-token-ttl-seconds");
        if (exchange.getRequestMethod().equals("PUT")) {
            boolean isRight =
                    path.equals("/latest/api/token") && seconds != null && seconds.matches("[1-9][0-9]{0,3}|1[0-9]{4}");
            metadataToken = "metadata-" + asked.size();
            return isRight ? metadataToken : null;
        } else if (!metadataToken.equals(exchange.getRequestHeaders().getFirst("X-aws-ec2-metadata-token"))) {
            return null;
        }
        return switch (path) {
            case "/latest/meta-data/iam/security-credentials/" -> "the-role\n";
            case "/latest/meta-data/iam/security-credentials/the-role" -> json();
            default -> null;
        };
    }

    private String container(HttpExchange exchange) {
        return CONTAINER_TOKEN.equals(exchange.getRequestHeaders().getFirst("Authorization")) ? json() : null;
    }

    private String sts(HttpExchange exchange) throws IOException {
        Map<String, String> form = new TreeMap<>();
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        Arrays.stream(body.split("&"))
                .map(field -> field.split("=", 2))
                .forEach(field -> form.put(field[0], URLDecoder.decode(field[1], StandardCharsets.UTF_8)));
        if (!form.equals(Map.of(
                "Action",
                "AssumeRoleWithWebIdentity",
                "Version",
                "2011-06-15",
                "RoleArn",
                ROLE,
                "RoleSessionName",
                "test",
                "WebIdentityToken",
                webToken))) {
            return null;
        }
        String session = newSession();
        return "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>"
                + session
                + "</SessionToken><SecretAccessKey>" + ObjectStore.SECRET_KEY + "</SecretAccessKey><Expiration>"
                + sessions.get(session) + "</Expiration><AccessKeyId>" + ObjectStore.ACCESS_KEY
                + "</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
