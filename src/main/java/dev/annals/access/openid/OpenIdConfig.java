package dev.annals.access.openid;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Texts;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The OpenID provider of bearer tokens and of the viewer's sign-in. */
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
     * <p>An {@code https} URL, or an {@code http} one on this machine. Without it, the service accepts no such tokens.
     */
    @Texts(URL)
    Optional<String> issuer();

    /** The service's name at the provider, as in a bearer token's {@code aud}. Without it, only the viewer's sign-in is accepted. */
    @Texts("[!-~]{1,255}")
    Optional<String> audience();

    /** The URL of the provider's keys. Default: from the issuer's {@code /.well-known/openid-configuration}. */
    @Texts(URL)
    Optional<String> jwksUrl();

    /**
     * The claim that identifies a person or a program; {@code recorded_by} is derived from it.
     *
     * <p>The provider must never give its value to another person or program.
     */
    @WithDefault("sub")
    @Texts("[!-~]{1,255}")
    String subjectClaim();

    /** The largest difference between the clocks of the provider and the service. */
    @WithDefault("30s")
    @Durations(min = "0s", max = "60s")
    Duration clockSkew();

    /**
     * The service fetches the provider's keys again after this time. A withdrawn key is accepted until then.
     *
     * <p>A new key may be unknown for ten seconds, or for a fifth of this time if that is shorter.
     */
    @WithDefault("10M")
    @Durations(min = "1s", max = "1D")
    Duration keyTime();

    /**
     * The additional time for which keys are accepted while the provider cannot be reached.
     *
     * <p>After that, requests with its tokens get {@code 503}.
     */
    @WithDefault("4H")
    @Durations(min = "0s", max = "7D")
    Duration keyOutage();

    /** The viewer's client id at the provider. Without it, users sign in with a token of the service. */
    @Texts("[!-~]{1,255}")
    Optional<String> clientId();

    /** A file with the client's secret. Without it, the client is public. */
    Optional<Path> clientSecretFile();

    /** The scopes that the sign-in requests. */
    @WithDefault("openid")
    @Texts("openid( [!#-\\[\\]-~]{1,64}){0,16}")
    String scopes();
}
