package dev.annals.edges.delivery;

import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Stands before an {@link ObjectStore}, which takes no session tokens. It lets through what is signed with a token that lasts, and signs it
 * again without the token. The store checks that signature, and so also how this class computes them.
 */
final class SessionGate implements AutoCloseable {

    private static final String TOKEN = "x-amz-security-token";
    private static final Pattern AUTHORIZATION = Pattern.compile("AWS4-HMAC-SHA256 Credential=" + ObjectStore.ACCESS_KEY
            + "/(([0-9]{8})/([0-9a-z-]+)/s3/aws4_request), SignedHeaders=([0-9a-z;-]+), Signature=([0-9a-f]{64})");

    private final Vertx vertx = Vertx.vertx();
    private final HttpClient client = vertx.createHttpClient();
    private final HttpServer server;
    private final SocketAddress store;
    private final Map<String, Instant> sessions;

    /** @param sessions the ends of session tokens */
    SessionGate(int storePort, Map<String, Instant> sessions) {
        this.store = SocketAddress.inetSocketAddress(storePort, "127.0.0.1");
        this.sessions = sessions;
        this.server = vertx.createHttpServer()
                .requestHandler(request -> request.body().onSuccess(body -> handle(request, body)))
                .listen(0, "127.0.0.1")
                .toCompletionStage()
                .toCompletableFuture()
                .join();
    }

    int port() {
        return server.actualPort();
    }

    private void handle(HttpServerRequest request, Buffer body) {
        Matcher given = AUTHORIZATION.matcher(String.valueOf(request.getHeader("authorization")));
        String session = String.valueOf(request.getHeader(TOKEN));
        if (!given.matches()
                || !given.group(4).contains(TOKEN)
                || !signature(request, given, given.group(4)).equals(given.group(5))) {
            refuse(request, 403, "SignatureDoesNotMatch");
        } else if (!Instant.now().isBefore(sessions.getOrDefault(session, Instant.MIN))) {
            refuse(request, 400, "ExpiredToken");
        } else {
            String names = Arrays.stream(given.group(4).split(";"))
                    .filter(name -> !name.equals(TOKEN))
                    .collect(Collectors.joining(";"));
            MultiMap headers =
                    MultiMap.caseInsensitiveMultiMap().addAll(request.headers()).remove(TOKEN);
            headers.set(
                    "authorization",
                    given.group()
                            .replace(given.group(4), names)
                            .replace(given.group(5), signature(request, given, names)));
            forward(request, headers, body);
        }
    }

    private static void refuse(HttpServerRequest request, int status, String code) {
        request.response().setStatusCode(status).end("<Error><Code>" + code + "</Code></Error>");
    }

    private void forward(HttpServerRequest request, MultiMap headers, Buffer body) {
        RequestOptions options = new RequestOptions()
                .setMethod(request.method())
                .setServer(store)
                .setHost("127.0.0.1")
                .setPort(port())
                .setURI(request.uri())
                .setHeaders(headers);
        client.request(options)
                .compose(sent -> sent.send(body))
                .onSuccess(answer -> answer.body().onSuccess(bytes -> {
                    request.response().setStatusCode(answer.statusCode());
                    request.response().headers().addAll(answer.headers().remove("transfer-encoding"));
                    request.response().end(bytes);
                }))
                .onFailure(failure -> refuse(request, 502, "BadGateway"));
    }

    private static String signature(HttpServerRequest request, Matcher given, String names) {
        String headers = Arrays.stream(names.split(";"))
                .map(name -> name + ":" + request.getHeader(name) + "\n")
                .collect(Collectors.joining());
        String query = request.query() == null ? "" : request.query();
        String canonical = String.join(
                "\n",
                request.method().name(),
                request.path(),
                query,
                headers,
                names,
                request.getHeader("x-amz-content-sha256"));
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(canonical.getBytes(StandardCharsets.UTF_8));
            String text = String.join(
                    "\n",
                    "AWS4-HMAC-SHA256",
                    request.getHeader("x-amz-date"),
                    given.group(1),
                    HexFormat.of().formatHex(digest));
            byte[] key = ("AWS4" + ObjectStore.SECRET_KEY).getBytes(StandardCharsets.UTF_8);
            for (String part : List.of(given.group(2), given.group(3), "s3", "aws4_request", text)) {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(key, "HmacSHA256"));
                key = mac.doFinal(part.getBytes(StandardCharsets.UTF_8));
            }
            return HexFormat.of().formatHex(key);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
