package dev.annals.edges.delivery;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import dev.annals.kernel.config.ConfigLimits.Texts;
import dev.annals.kernel.config.Secret;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Streams that deliver feeds to sinks elsewhere: where these may be, and how much is under way. */
@ConfigMapping(prefix = "annals.streams")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface DeliveryConfig {

    /** Whether this instance delivers. If none does, streams stand still. */
    @WithDefault("true")
    boolean enabled();

    /** Where sinks may be: hosts ({@code hooks.example.org}, {@code *.example.org}, {@code *}) at their public addresses, and addresses and networks, also private ones. Default: all public addresses. */
    @Texts("\\*|(\\*\\.)?[0-9A-Za-z]([0-9A-Za-z.-]{0,252})|[0-9A-Fa-f:.]+(/[0-9]{1,3})?")
    Optional<List<String>> allowedHosts();

    /**
     * A file with the secret that encrypts sinks' secrets: 64 hexadecimal digits, the same for all instances. Default: with its own database the service makes one; else sinks have no secrets.
     *
     * <p>As {@code openssl rand -hex 32} makes them. Only the service may be able to read it. Without it, sinks have to be set again.
     */
    Optional<Path> keyFile();

    /** The secret itself, in place of {@link #keyFile()}. */
    @Texts("[0-9a-f]{64}")
    @Secret
    Optional<String> key();

    /**
     * After this time another instance takes the streams of one that is gone.
     *
     * <p>For so long an instance has a stream to itself without saying that it lives; it says so three times as often.
     */
    @WithDefault("6s")
    @Durations(min = "300ms", max = "10M")
    Duration lease();

    /** Streams delivered at a time; half of them of one project. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int concurrent();

    /** Streams that a project may have. */
    @WithDefault("20")
    @Min(1)
    @Max(1_000)
    int perProject();

    /** Records of a batch. */
    @WithDefault("100")
    @Min(1)
    @Max(1_000)
    int batchRecords();

    /**
     * Bytes of a syslog message; of a larger record, a part is sent. rsyslog takes 8096 by default.
     *
     * <p>Receivers may cut what is larger than they expect: RFC 5425 asks them for 8192.
     */
    @WithDefault("8096")
    @Min(2_048)
    @Max(1_048_576)
    int syslogBytes();

    /** Records of an object in an S3-compatible store. */
    @WithDefault("10000")
    @Min(1)
    @Max(100_000)
    int objectRecords();

    /**
     * How long records wait for others of the same object.
     *
     * <p>Sixty times in this time the service looks whether there are enough of them.
     */
    @WithDefault("1H")
    @Durations(min = "10ms", max = "24H")
    Duration objectAge();

    /**
     * How long a sink may take to acknowledge a batch.
     *
     * <p>From the look-up of its name on.
     */
    @WithDefault("15s")
    @Durations(min = "10ms", max = "5M")
    Duration timeout();

    /**
     * The longest time between two tries. The first is a 900th of it, and each further one twice as long.
     *
     * <p>Also where a sink asks for more.
     */
    @WithDefault("15M")
    @Durations(min = "10ms", max = "24H")
    Duration maxRetryDelay();
}
