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
     * The provider, exactly as its tokens name it in {@code iss}: an {@code https} URL, or an {@code http} one on this
     * machine. Without it, no such tokens count.
     */
    @Texts(URL)
    Optional<String> issuer();

    /**
     * The service's name at the provider, which the {@code aud} of a bearer token has to contain. Without it, only the viewer's
     * sign-in counts.
     */
    @Texts("[!-~]{1,255}")
    Optional<String> audience();

    /** The address of the provider's keys. Default: the one in the issuer's {@code /.well-known/openid-configuration}. */
    @Texts(URL)
    Optional<String> jwksUrl();

    /**
     * The claim that names a person or a program for good; {@code recorded_by} is made from it. The provider must never give
     * its value to another one.
     */
    @WithDefault("sub")
    @Texts("[!-~]{1,255}")
    String subjectClaim();

    /** How far the provider's clock may be from the service's. */
    @WithDefault("30s")
    @Durations(min = "0s", max = "60s")
    Duration clockSkew();

    /**
     * The time after which the provider's keys are fetched again. A key that it has withdrawn counts until then, or for the interval
     * if that is longer.
     */
    @WithDefault("10M")
    @Durations(min = "1s", max = "1D")
    Duration keyTime();

    /** The time for which they count on while the provider cannot be reached. Then requests with its tokens get {@code 503}. */
    @WithDefault("4H")
    @Durations(min = "0s", max = "7D")
    Duration keyOutage();

    /**
     * The least time between two attempts to fetch them, whatever keys tokens name. For so long, a new key of the provider may
     * not be known.
     */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "5M")
    Duration keyInterval();

    /** The time that the provider has for an answer. */
    @WithDefault("5s")
    @Durations(min = "100ms", max = "1M")
    Duration timeout();

    /** The viewer as a client of the provider. Without it, people sign in with a token of the service alone. */
    @Texts("[!-~]{1,255}")
    Optional<String> clientId();

    /** A file with the client's secret, such as container platforms mount. Without it, the client is a public one. */
    Optional<Path> clientSecretFile();

    /** What the sign-in asks the provider for, separated by spaces. */
    @WithDefault("openid")
    @Texts("openid( [!#-\\[\\]-~]{1,64}){0,16}")
    String scopes();
}
