package dev.annals.openid;

import dev.annals.config.ConfigLimits.Durations;
import dev.annals.config.ConfigLimits.Texts;
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

    /** An address of a provider: whoever could change what it answers could let anybody in. */
    String URL =
            "https://[^\\s?#/]+(/[^\\s?#]*)?|http://(localhost|127\\.0\\.0\\.1|\\[::1])(:[0-9]{1,5})?(/[^\\s?#]*)?";

    /**
     * The provider, exactly as its tokens name it in {@code iss}: an {@code https} URL, or an {@code http} one on this
     * machine. Without it, no such tokens count.
     */
    @Texts(URL)
    Optional<String> issuer();

    /**
     * What the {@code aud} of a bearer token has to name: this service, as the provider knows it. Without it, only the viewer's
     * sign-in counts.
     */
    @Texts("[!-~]{1,255}")
    Optional<String> audience();

    /** Where the provider's keys are. Default: what the issuer's {@code /.well-known/openid-configuration} says. */
    @Texts(URL)
    Optional<String> jwksUrl();

    /**
     * The claim that names a person or a program for good; {@code recorded_by} is made from it. The provider must never give
     * its value to somebody else.
     */
    @WithDefault("sub")
    @Texts("[!-~]{1,255}")
    String subjectClaim();

    /** How far the provider's clock may be from the service's. */
    @WithDefault("30s")
    @Durations(min = "0s", max = "60s")
    Duration clockSkew();

    /** How long the provider's keys count before they are fetched again. For so long, a key that it has withdrawn still counts. */
    @WithDefault("10M")
    @Durations(min = "1s", max = "1D")
    Duration keyTime();

    /** How much longer they count while the provider cannot be reached. Then requests with its tokens get {@code 503}. */
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

    /** How long the provider may take for an answer. */
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
