package dev.annals.access.openid;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Texts;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** An OpenID provider whose tokens count, and with which people sign in to the viewer. */
@ConfigMapping(prefix = "annals.openid")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface OpenIdConfig {

    /** An address of a provider. An attacker who can change its answers can sign in as anyone. */
    String URL =
            "https://[^\\s?#/]+(/[^\\s?#]*)?|http://(localhost|127\\.0\\.0\\.1|\\[::1])(:[0-9]{1,5})?(/[^\\s?#]*)?";

    /**
     * The OpenID provider, exactly as its tokens name it in {@code iss}.
     *
     * <p>An {@code https} URL, or an {@code http} one on this machine. Without it, no such tokens count.
     */
    @Texts(URL)
    Optional<String> issuer();

    /** The service's name at the provider, as in a bearer token's {@code aud}. Without it, only the viewer's sign-in counts. */
    @Texts("[!-~]{1,255}")
    Optional<String> audience();

    /** The provider's keys. Default: as the issuer's {@code /.well-known/openid-configuration} says. */
    @Texts(URL)
    Optional<String> jwksUrl();

    /**
     * The claim that names a person or a program for good; {@code recorded_by} is made from it.
     *
     * <p>The provider must never give its value to another one.
     */
    @WithDefault("sub")
    @Texts("[!-~]{1,255}")
    String subjectClaim();

    /** How far the provider's clock may be from the service's. */
    @WithDefault("30s")
    @Durations(min = "0s", max = "60s")
    Duration clockSkew();

    /**
     * After this time the provider's keys are fetched again; a withdrawn one counts until then.
     *
     * <p>A new one may not be known for ten seconds, or for a fifth of this time if that is shorter.
     */
    @WithDefault("10M")
    @Durations(min = "1s", max = "1D")
    Duration keyTime();

    /**
     * How much longer they count while the provider cannot be reached.
     *
     * <p>After that requests with its tokens get {@code 503}.
     */
    @WithDefault("4H")
    @Durations(min = "0s", max = "7D")
    Duration keyOutage();

    /** The viewer as a client of the provider. Without it, people sign in with a token of the service. */
    @Texts("[!-~]{1,255}")
    Optional<String> clientId();

    /** A file with the client's secret; without it, the client is a public one. */
    Optional<Path> clientSecretFile();

    /** What the sign-in asks for. */
    @WithDefault("openid")
    @Texts("openid( [!#-\\[\\]-~]{1,64}){0,16}")
    String scopes();
}
