package dev.annals.access.openid;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jboss.logging.Logger;
import org.jose4j.jwa.AlgorithmConstraints;
import org.jose4j.jwa.AlgorithmConstraints.ConstraintType;
import org.jose4j.jwa.AlgorithmFactoryFactory;
import org.jose4j.jwk.JsonWebKey;
import org.jose4j.jwk.JsonWebKeySet;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jwk.VerificationJwkSelector;
import org.jose4j.jws.EdDsaAlgorithm;
import org.jose4j.jws.JsonWebSignature;
import org.jose4j.jwt.MalformedClaimException;
import org.jose4j.jwt.consumer.ErrorCodes;
import org.jose4j.jwt.consumer.InvalidJwtException;
import org.jose4j.jwt.consumer.JwtConsumerBuilder;
import org.jose4j.jwx.JsonWebStructure;
import org.jose4j.lang.JoseException;
import org.jspecify.annotations.Nullable;

/**
 * Checks tokens of the OpenID provider that the settings name.
 *
 * <p>A signature counts only if it needs the provider's private key: no shared secrets, and no key that a token contains or
 * refers to. No token makes the service ask the provider more often than the settings allow.
 */
@ApplicationScoped
public class Provider {

    private static final Logger LOG = Logger.getLogger(Provider.class);
    private static final String[] ALGORITHMS = {
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"
    };
    private static final AlgorithmConstraints ALLOWED = new AlgorithmConstraints(ConstraintType.PERMIT, ALGORITHMS);
    private static final Set<String> ALLOWED_NAMES = Set.of(ALGORITHMS);
    /** Types of access tokens (RFC 9068), and of tokens without a specific type. */
    private static final Set<String> TYPES = Set.of("jwt", "at+jwt", "application/at+jwt");

    /** Headers that choose a key, or that this class does not implement. */
    private static final List<String> REFUSED_HEADERS = List.of("jwk", "jku", "x5u", "x5c", "crit", "b64", "zip");

    private static final List<String> TIMES = List.of("exp", "nbf", "iat");

    /** In the year 9998: years in answers have four digits. */
    private static final long LAST_SECOND = 253_370_764_800L;

    private static final int MOST_KEYS_TRIED = 4;
    private static final int MAX_SUBJECT = 1_024;
    private static final ObjectReader JSON = JsonMapper.builder().build().reader();

    static {
        AlgorithmFactoryFactory.getInstance().getJwsAlgorithmFactory().registerAlgorithm(new Ed25519());
    }

    /** Between two fetches of keys, so that tokens with unknown keys cause no more. */
    private static final Duration KEY_INTERVAL = Duration.ofSeconds(10);
    /** A sign-in waits this long. */
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final OpenIdConfig config;
    private final Duration keyInterval;
    private final ProviderClient client;
    private final CachedFetch<ProviderMetadata> metadata;
    private final CachedFetch<List<JsonWebKey>> keys;

    Provider(OpenIdConfig config, Vertx vertx) {
        this.config = config;
        Duration fifth = config.keyTime().dividedBy(5);
        this.keyInterval = fifth.compareTo(KEY_INTERVAL) < 0 ? fifth : KEY_INTERVAL;
        this.client = new ProviderClient(vertx, TIMEOUT);
        this.metadata = new CachedFetch<>(
                "The description of the OpenID provider",
                this::fetchMetadata,
                config.keyTime(),
                config.keyOutage(),
                keyInterval,
                System::nanoTime);
        this.keys = new CachedFetch<>(
                "The keys of the OpenID provider",
                this::fetchKeys,
                config.keyTime(),
                config.keyOutage(),
                keyInterval,
                System::nanoTime);
    }

    void start(@Observes StartupEvent event) {
        if (config.issuer().isEmpty()
                && (config.audience().isPresent() || config.clientId().isPresent())) {
            throw new IllegalArgumentException(
                    "ANNALS_OPENID_AUDIENCE and ANNALS_OPENID_CLIENT_ID need ANNALS_OPENID_ISSUER, the provider.");
        }
        if (config.issuer().isPresent()
                && config.audience().isEmpty()
                && config.clientId().isEmpty()) {
            LOG.warn("ANNALS_OPENID_ISSUER does nothing without ANNALS_OPENID_AUDIENCE, for bearer tokens, or"
                    + " ANNALS_OPENID_CLIENT_ID, for the viewer's sign-in.");
        }
    }

    void stop(@Observes ShutdownEvent event) {
        client.close();
    }

    ProviderClient client() {
        return client;
    }

    public boolean takesBearers() {
        return config.issuer().isPresent() && config.audience().isPresent();
    }

    public boolean takesSignIns() {
        return config.issuer().isPresent() && config.clientId().isPresent();
    }

    /** Null without a provider. */
    public @Nullable String issuer() {
        return config.issuer().orElse(null);
    }

    /**
     * Checks a bearer token.
     *
     * @return fails with {@link BadToken}, or with {@code unavailable} without the provider's keys
     */
    public Uni<ProvenToken> bearer(String token) {
        return prove(token, config.audience().orElseThrow(), false);
    }

    /** For a viewer's session. Fails as {@link #bearer} does. */
    public Uni<ProvenToken> idToken(String token) {
        return prove(token, config.clientId().orElseThrow(), true);
    }

    /** Fails with {@code unavailable}. */
    Uni<ProviderMetadata> metadata() {
        return metadata.get(any -> true).onFailure(CachedFetch.Missing.class).transform(failure -> away());
    }

    private Uni<ProvenToken> prove(String token, String audience, boolean isIdToken) {
        JsonWebSignature signed;
        String keyId;
        try {
            signed = read(token);
            keyId = signed.getKeyIdHeaderValue();
        } catch (BadToken e) {
            return Uni.createFrom().failure(e);
        } catch (RuntimeException e) {
            // The library has no specific exception for headers of a wrong type.
            return Uni.createFrom().failure(new BadToken("The token's headers cannot be read."));
        }
        return keys.get(known -> keyId == null || known.stream().anyMatch(key -> keyId.equals(key.getKeyId())))
                .onFailure(CachedFetch.Missing.class)
                .transform(failure -> away())
                .map(known -> {
                    try {
                        return check(token, signed, known, audience, isIdToken);
                    } catch (BadToken e) {
                        throw new Refusal(e);
                    }
                })
                .onFailure(Refusal.class)
                .transform(failure -> Objects.requireNonNull(failure.getCause()));
    }

    /** RFC 9864's name for EdDSA by this curve alone, which jose4j does not know. */
    private static final class Ed25519 extends EdDsaAlgorithm {

        Ed25519() {
            setAlgorithmIdentifier("Ed25519");
            setJavaAlgorithm("Ed25519");
        }
    }

    /** The message tells the sender why. */
    public static final class BadToken extends Exception {

        private static final long serialVersionUID = 1;

        BadToken(String why) {
            super(why);
        }
    }

    /** Carries a checked exception through a function. */
    private static final class Refusal extends RuntimeException {

        private static final long serialVersionUID = 1;

        Refusal(BadToken cause) {
            super(cause);
        }
    }

    private static JsonWebSignature read(String token) throws BadToken {
        JsonWebStructure structure;
        try {
            structure = JsonWebStructure.fromCompactSerialization(token);
        } catch (JoseException | RuntimeException e) {
            throw new BadToken("This is neither a token that the service issued, nor a signed token of the provider.");
        }
        if (!(structure instanceof JsonWebSignature signed)) {
            throw new BadToken("The token is encrypted. Send one that is signed alone.");
        }
        String algorithm = signed.getAlgorithmHeaderValue();
        if (algorithm == null || !ALLOWED_NAMES.contains(algorithm)) {
            throw new BadToken("The token is signed by a method that is not accepted here.");
        }
        for (String name : REFUSED_HEADERS) {
            if (signed.getHeaders().getObjectHeaderValue(name) != null) {
                throw new BadToken("The token has the header \"" + name + "\", which is not accepted here.");
            }
        }
        String type = signed.getHeaders().getStringHeaderValue("typ");
        if (type != null && !TYPES.contains(type.toLowerCase(Locale.ROOT))) {
            throw new BadToken("This is another kind of token than one of access: its header \"typ\" says so.");
        }
        return signed;
    }

    private ProvenToken check(
            String token, JsonWebSignature signed, List<JsonWebKey> known, String audience, boolean isIdToken)
            throws BadToken {
        List<JsonWebKey> candidates;
        try {
            candidates = new VerificationJwkSelector().selectList(signed, known);
        } catch (JoseException e) {
            throw new BadToken("The token's signature cannot be checked.");
        }
        InvalidJwtException wrong = null;
        for (JsonWebKey key : candidates.subList(0, Math.min(candidates.size(), MOST_KEYS_TRIED))) {
            if (!(key instanceof PublicJsonWebKey)
                    || (key.getAlgorithm() != null && !key.getAlgorithm().equals(signed.getAlgorithmHeaderValue()))) {
                continue;
            }
            try {
                return proven(token, key, audience, isIdToken);
            } catch (InvalidJwtException e) {
                wrong = e;
            }
        }
        throw new BadToken(
                wrong == null
                        ? "The token is signed by a key that the provider does not name. If it is a new one, send the token"
                                + " again in "
                                + Math.max(1, keyInterval.toSeconds()) + " seconds."
                        : told(wrong));
    }

    private ProvenToken proven(String token, JsonWebKey key, String audience, boolean isIdToken)
            throws InvalidJwtException, BadToken {
        int skew = (int) config.clockSkew().toSeconds();
        var context = new JwtConsumerBuilder()
                .setVerificationKey(key.getKey())
                .setJwsAlgorithmConstraints(ALLOWED)
                .setExpectedIssuer(config.issuer().orElseThrow())
                .setExpectedAudience(audience)
                .setRequireExpirationTime()
                .setAllowedClockSkewInSeconds(skew)
                .build()
                .process(token);
        try {
            JsonNode claims = JSON.readTree(context.getJwtClaims().getRawJson());
            for (String time : TIMES) {
                // The library takes a number that is too large for the last moment of all.
                if (claims.has(time) && !claims.path(time).canConvertToLong()) {
                    throw new BadToken("The token's claim \"" + time + "\" is no time.");
                }
            }
            String subject = claims.path(config.subjectClaim()).asText();
            if (!claims.path(config.subjectClaim()).isTextual() || !ProvenToken.isText(subject, MAX_SUBJECT)) {
                throw new BadToken("The token does not say whose it is: its claim \"" + config.subjectClaim()
                        + "\" has to be a text of 1 to " + MAX_SUBJECT + " characters.");
            }
            // An ID token for several audiences has to name the one that requested it.
            String asker = claims.path("azp").asText(claims.path("aud").size() > 1 ? "" : audience);
            if (isIdToken && !asker.equals(audience)) {
                throw new BadToken("The token was made for another client of the provider.");
            }
            Instant end = Instant.ofEpochSecond(Math.min(
                            LAST_SECOND,
                            context.getJwtClaims().getExpirationTime().getValue())
                    + skew);
            return new ProvenToken(config.issuer().orElseThrow(), subject, end, claims);
        } catch (JsonProcessingException | MalformedClaimException e) {
            throw new BadToken("The token's claims cannot be read.");
        }
    }

    private static String told(InvalidJwtException wrong) {
        if (wrong.hasErrorCode(ErrorCodes.SIGNATURE_INVALID)) {
            return "The token's signature does not hold.";
        } else if (wrong.hasErrorCode(ErrorCodes.EXPIRED)) {
            return "The token has expired. Get a new one from the provider.";
        } else if (wrong.hasErrorCode(ErrorCodes.ISSUER_INVALID) || wrong.hasErrorCode(ErrorCodes.ISSUER_MISSING)) {
            return "The token is one of another provider.";
        } else if (wrong.hasErrorCode(ErrorCodes.AUDIENCE_INVALID) || wrong.hasErrorCode(ErrorCodes.AUDIENCE_MISSING)) {
            return "The token is meant for another service: its audience is not this one.";
        } else if (wrong.hasErrorCode(ErrorCodes.NOT_YET_VALID)) {
            return "The token is not valid yet.";
        } else {
            return "The token's signature or its claims do not hold.";
        }
    }

    private ProblemException away() {
        return new ProblemException(Problem.of(
                        ProblemType.UNAVAILABLE,
                        "The OpenID provider cannot be reached, so its tokens cannot be checked. Send the request again"
                                + " later. Tokens of the service itself still count.")
                .withRetryAfter(keyInterval));
    }

    private Uni<ProviderMetadata> fetchMetadata() {
        String issuer = config.issuer().orElseThrow();
        return client.get(issuer.replaceFirst("/$", "") + "/.well-known/openid-configuration")
                .map(json -> ProviderMetadata.read(json, issuer));
    }

    private Uni<List<JsonWebKey>> fetchKeys() {
        Uni<String> url = config.jwksUrl()
                .map(set -> Uni.createFrom().item(set))
                .orElseGet(() -> metadata.get(any -> true).map(ProviderMetadata::jwksUri));
        return url.chain(client::get).map(Provider::readKeys);
    }

    private static List<JsonWebKey> readKeys(String json) {
        try {
            List<JsonWebKey> keys = new JsonWebKeySet(json).getJsonWebKeys();
            if (keys.isEmpty()) {
                throw new IllegalArgumentException("it names no key");
            }
            return keys;
        } catch (JoseException e) {
            throw new IllegalArgumentException("its keys cannot be read", e);
        }
    }
}
