package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.edges.delivery.Sink.SinkException;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.jspecify.annotations.Nullable;

/**
 * A token for SASL OAUTHBEARER, by the client credentials grant (RFC 6749, section 4.4).
 *
 * @param principalName the client id
 * @param lifetimeMs its end, in milliseconds since 1970
 */
record KafkaToken(String value, String principalName, long lifetimeMs) implements OAuthBearerToken {

    private static final Pattern BEARER = Pattern.compile("[0-9A-Za-z._~+/-]{1,16384}=*");
    private static final Pattern ERROR = Pattern.compile("[a-z_]{1,64}");
    private static final long DEFAULT_SECONDS = 300;
    private static final long MAX_SECONDS = 86_400;

    @Override
    public Set<String> scope() {
        return Set.of();
    }

    @Override
    public @Nullable Long startTimeMs() {
        return null;
    }

    /** Without the token. */
    @Override
    public String toString() {
        return "KafkaToken[" + principalName + "]";
    }

    /**
     * Requests a token.
     *
     * @param login {@code client id:client secret}
     * @return fails with {@link SinkException}
     */
    static Uni<KafkaToken> of(HttpExchange http, URI url, @Nullable String scope, String login) {
        int colon = login.indexOf(':');
        String id = login.substring(0, colon);
        String basic = encoded(id) + ":" + encoded(login.substring(colon + 1));
        Map<String, String> headers = Map.of(
                "authorization",
                "Basic " + Base64.getEncoder().encodeToString(basic.getBytes(StandardCharsets.US_ASCII)),
                "accept",
                "application/json",
                "content-type",
                "application/x-www-form-urlencoded");
        String body = "grant_type=client_credentials" + (scope == null ? "" : "&scope=" + encoded(scope));
        return http.send(new HttpExchange.Request(HttpMethod.POST, url, headers, Buffer.buffer(body)))
                .onFailure()
                .transform(failure -> new SinkException("The endpoint of tokens: " + http.explain(failure)))
                .map(answer -> read(answer, id));
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static KafkaToken read(HttpExchange.Answer answer, String id) {
        JsonNode json = answer.json();
        String value = json.path("access_token").asText();
        if (answer.status() != 200 || !BEARER.matcher(value).matches()) {
            String error = json.path("error").asText();
            throw new SinkException("The endpoint of tokens gives none: HTTP status " + answer.status()
                    + (ERROR.matcher(error).matches() ? ", " + error : "") + ".");
        }
        long seconds = Math.max(1, Math.min(json.path("expires_in").asLong(DEFAULT_SECONDS), MAX_SECONDS));
        return new KafkaToken(value, id, System.currentTimeMillis() + 1_000 * seconds);
    }

    /**
     * Kafka's client makes this class by its name. It asks for the token while it holds a lock that all its logins share, so the token is
     * fetched before.
     */
    @RegisterForReflection
    public static final class Login implements AuthenticateCallbackHandler {

        private @Nullable KafkaClients clients;

        @Override
        public void configure(Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {
            clients = (KafkaClients) settings.get(KafkaClients.Tls.CLIENTS);
        }

        @Override
        public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
            for (Callback callback : callbacks) {
                if (!(callback instanceof OAuthBearerTokenCallback wanted)) {
                    throw new UnsupportedCallbackException(callback);
                }
                wanted.token(Objects.requireNonNull(clients).token());
            }
        }

        @Override
        public void close() {
            // The token belongs to the clients.
        }
    }
}
