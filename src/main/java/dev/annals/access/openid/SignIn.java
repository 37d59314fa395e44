package dev.annals.access.openid;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.http.ProblemException;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Signing in with the provider: OpenID Connect's authorization code flow, with PKCE (RFC 7636), a state and a nonce. A cookie of
 * the browser carries the state, the nonce and the verifier, so any instance can finish a sign-in.
 */
@ApplicationScoped
public class SignIn {

    private static final Logger LOG = Logger.getLogger(SignIn.class);
    private static final String CALLBACK = "/v1/session/callback";
    private static final Base64.Encoder BASE64URL = Base64.getUrlEncoder().withoutPadding();
    private static final int SECRET_BYTES = 32;
    private static final int MAX_CODE = 4_096;
    /** Browsers keep 4,096 bytes of a cookie, with its name and attributes. */
    private static final int MAX_ID_TOKEN = 3_800;
    /** State, nonce and verifier. */
    private static final Pattern MEMORY = Pattern.compile("[\\w-]{43}\\.[\\w-]{43}\\.[\\w-]{43}");

    private static final ObjectReader JSON = JsonMapper.builder().build().reader();

    private final OpenIdConfig config;
    private final Provider provider;
    private final @Nullable String publicUrl;
    private final SecureRandom random = new SecureRandom();

    SignIn(OpenIdConfig config, Provider provider, AnnalsConfig annals) {
        this.config = config;
        this.provider = provider;
        this.publicUrl =
                annals.publicUrl().map(url -> url.replaceAll("/+$", "")).orElse(null);
    }

    void start(@Observes StartupEvent event) {
        if (config.clientId().isPresent() && publicUrl == null) {
            throw new IllegalArgumentException(
                    "ANNALS_OPENID_CLIENT_ID needs ANNALS_PUBLIC_URL: the provider redirects browsers to " + CALLBACK
                            + " of that address alone.");
        }
        secret();
    }

    /**
     * A sign-in that has begun.
     *
     * @param url the provider's page for the browser
     * @param memory this browser passes it to {@link #finish}
     */
    public record Begun(String url, String memory) {}

    public record Done(String idToken, ProvenToken token) {}

    public enum Failure {
        /** The person or the provider refused. */
        REFUSED,
        /** The browser has begun no sign-in, another one, or one too long ago. */
        UNKNOWN,
        AWAY,
        /** For a cookie. */
        TOO_LONG,
        /** The provider's answer is invalid. */
        BAD
    }

    public static final class Failed extends Exception {

        private static final long serialVersionUID = 1;

        private final Failure why;

        Failed(Failure why) {
            super(why.name());
            this.why = why;
        }

        public Failure why() {
            return why;
        }
    }

    /** True if browsers use TLS. */
    public boolean isSecure() {
        return publicUrl != null && publicUrl.startsWith("https:");
    }

    /** The viewer's URL. */
    public String viewer() {
        return Objects.requireNonNull(publicUrl, "it is checked at the start") + "/";
    }

    /** Fails with {@code unavailable}. */
    public Uni<Begun> begin() {
        String state = draw();
        String nonce = draw();
        String verifier = draw();
        return provider.metadata().map(metadata -> {
            String endpoint = Objects.requireNonNull(
                    metadata.authorizationEndpoint(), "the provider names no authorization_endpoint");
            String url = endpoint
                    + (endpoint.indexOf('?') < 0 ? '?' : '&')
                    + form(
                            "response_type",
                            "code",
                            "client_id",
                            config.clientId().orElseThrow(),
                            "redirect_uri",
                            viewer().replaceFirst("/$", CALLBACK),
                            "scope",
                            config.scopes(),
                            "state",
                            state,
                            "nonce",
                            nonce,
                            "code_challenge",
                            challenge(verifier),
                            "code_challenge_method",
                            "S256");
            return new Begun(url, state + "." + nonce + "." + verifier);
        });
    }

    /**
     * Finishes a sign-in.
     *
     * @param memory from the browser's cookie; null if it has none
     * @param state from the provider's redirect, as {@code code} and {@code issuer}; null if it has none
     * @return fails with {@link Failed}
     */
    public Uni<Done> finish(
            @Nullable String memory, @Nullable String state, @Nullable String code, @Nullable String issuer) {
        if (memory == null || state == null || !MEMORY.matcher(memory).matches()) {
            return Uni.createFrom().failure(new Failed(Failure.UNKNOWN));
        }
        if (!MessageDigest.isEqual(bytes(memory.substring(0, 43)), bytes(state))) {
            return Uni.createFrom().failure(new Failed(Failure.UNKNOWN));
        }
        // RFC 9207: this provider must not see another provider's code.
        if (code == null || code.length() > MAX_CODE || (issuer != null && !issuer.equals(provider.issuer()))) {
            return Uni.createFrom().failure(new Failed(Failure.REFUSED));
        }
        return redeem(code, memory.substring(88))
                .chain(idToken -> provider.idToken(idToken).chain(token -> {
                    if (!MessageDigest.isEqual(
                            bytes(memory.substring(44, 87)),
                            bytes(token.claims().path("nonce").asText()))) {
                        return Uni.createFrom().failure(new Failed(Failure.BAD));
                    }
                    return Uni.createFrom().item(new Done(idToken, token));
                }))
                .onFailure(failure -> !(failure instanceof Failed))
                .transform(SignIn::failed);
    }

    private static Failed failed(Throwable failure) {
        if (failure instanceof ProviderClient.NoAnswer || failure instanceof ProblemException) {
            return new Failed(Failure.AWAY);
        }
        LOG.warnf("A sign-in failed: %s", failure.getMessage());
        return new Failed(Failure.BAD);
    }

    private Uni<String> redeem(String code, String verifier) {
        String client = config.clientId().orElseThrow();
        String secret = secret();
        String asked = form(
                "grant_type",
                "authorization_code",
                "code",
                code,
                "redirect_uri",
                viewer().replaceFirst("/$", CALLBACK),
                "code_verifier",
                verifier);
        Map<String, String> headers = secret == null
                ? Map.of()
                : Map.of(
                        "Authorization",
                        "Basic " + Base64.getEncoder().encodeToString(bytes(encoded(client) + ":" + encoded(secret))));
        String sent = secret == null ? asked + "&" + form("client_id", client) : asked;
        return provider.metadata()
                .chain(metadata -> provider.client()
                        .post(
                                Objects.requireNonNull(
                                        metadata.tokenEndpoint(), "the provider names no token_endpoint"),
                                sent,
                                headers))
                .chain(SignIn::idToken);
    }

    private static Uni<String> idToken(ProviderClient.Answer answer) {
        if (answer.status() / 100 == 5) {
            return Uni.createFrom().failure(new Failed(Failure.AWAY));
        }
        if (answer.status() != 200) {
            LOG.warnf("The OpenID provider redeems no code: it answered with HTTP status %d", answer.status());
            return Uni.createFrom().failure(new Failed(Failure.BAD));
        }
        try {
            String token = JSON.readTree(answer.body()).path("id_token").asText();
            return token.length() <= MAX_ID_TOKEN
                    ? Uni.createFrom().item(token)
                    : Uni.createFrom().failure(new Failed(Failure.TOO_LONG));
        } catch (JsonProcessingException e) {
            return Uni.createFrom().failure(new Failed(Failure.BAD));
        }
    }

    /** Read each time: platforms replace the file when the secret changes. */
    private @Nullable String secret() {
        Path file = config.clientSecretFile().orElse(null);
        if (file == null) {
            return null;
        }
        try {
            String secret = Files.readString(file).strip();
            if (!secret.isEmpty()) {
                return secret;
            }
        } catch (IOException e) {
            // reported below
        }
        throw new IllegalArgumentException(
                "The file " + file + " of ANNALS_OPENID_CLIENT_SECRET_FILE cannot be read, or is empty.");
    }

    private String draw() {
        byte[] drawn = new byte[SECRET_BYTES];
        random.nextBytes(drawn);
        return BASE64URL.encodeToString(drawn);
    }

    private static String challenge(String verifier) {
        try {
            return BASE64URL.encodeToString(MessageDigest.getInstance("SHA-256").digest(bytes(verifier)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static String form(String... namesAndValues) {
        StringBuilder form = new StringBuilder();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            form.append(i == 0 ? "" : "&").append(namesAndValues[i]).append('=').append(encoded(namesAndValues[i + 1]));
        }
        return form.toString();
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
