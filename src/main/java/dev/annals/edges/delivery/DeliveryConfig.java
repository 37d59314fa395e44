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

    /** Whether this instance delivers. If no instance does, streams stand still. */
    @WithDefault("true")
    boolean enabled();

    /**
     * Where sinks may be, separated by commas: names of hosts ({@code hooks.example.org}, {@code *.example.org}, or {@code *} for
     * all), addresses, and networks such as {@code 10.0.0.0/8}. A name allows the host at its public addresses; an address or a
     * network allows what is there, also where it is private, link-local or this machine. Without this setting, sinks may be
     * at all public addresses and nowhere else.
     */
    @Texts("\\*|(\\*\\.)?[0-9A-Za-z]([0-9A-Za-z.-]{0,252})|[0-9A-Fa-f:.]+(/[0-9]{1,3})?")
    Optional<List<String>> allowedHosts();

    /**
     * A file with the secret that encrypts the secrets of sinks in the database: 64 hexadecimal digits, as {@code openssl rand
     * -hex 32} makes them. Only the service may be able to read it. All instances need the same one; without it, sinks have to
     * be set again. Without a key, the service with its own database makes one in its data directory; with another database,
     * streams whose sinks have secrets are refused.
     */
    Optional<Path> keyFile();

    /** The secret itself, in place of a {@link #keyFile()}. */
    @Texts("[0-9a-f]{64}")
    @Secret
    Optional<String> key();

    /** How often to look for streams that have something to deliver. */
    @WithDefault("500ms")
    @Durations(min = "10ms", max = "10M")
    Duration interval();

    /**
     * For how long an instance has a stream to itself without saying that it lives; it says so three times as often. After this
     * time another one takes the streams of an instance that is gone.
     */
    @WithDefault("6s")
    @Durations(min = "300ms", max = "10M")
    Duration lease();

    /** How many streams this instance delivers at a time. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int concurrent();

    /** How many of them may be of one project. */
    @WithDefault("4")
    @Min(1)
    @Max(1_000)
    int concurrentPerProject();

    /** How many pages of streams are read from the database at a time; the others wait. */
    @WithDefault("3")
    @Min(1)
    @Max(1_000)
    int reading();

    /** How many streams a project may have. */
    @WithDefault("20")
    @Min(1)
    @Max(1_000)
    int perProject();

    /** How many batches a stream delivers before others that wait have their turn. */
    @WithDefault("50")
    @Min(1)
    @Max(10_000)
    int turn();

    /** How many records a batch has at most. */
    @WithDefault("100")
    @Min(1)
    @Max(1_000)
    int batchRecords();

    /** How many bytes of JSON the records of a batch have at most, unless a single one has more. */
    @WithDefault("262144")
    @Min(1_024)
    @Max(16_777_216)
    int batchBytes();

    /**
     * How many bytes a syslog message has at most; of a larger record, a part is sent. Receivers may cut what is larger than they
     * expect: RFC 5425 asks them for 8192, and rsyslog takes 8096 unless it is told otherwise.
     */
    @WithDefault("8096")
    @Min(2_048)
    @Max(1_048_576)
    int syslogBytes();

    /** How many records an object in an S3-compatible store has at most. */
    @WithDefault("10000")
    @Min(1)
    @Max(100_000)
    int objectRecords();

    /** How many bytes the records of an object have at most before they are compressed, unless a single one has more. */
    @WithDefault("4194304")
    @Min(1_024)
    @Max(16_777_216)
    int objectBytes();

    /**
     * For how long records wait for others that come into the same object. Sixty times in this time the service looks whether there are
     * enough of them.
     */
    @WithDefault("1H")
    @Durations(min = "10ms", max = "24H")
    Duration objectAge();

    /** How long a sink may take to acknowledge a batch, from the look-up of its name on. */
    @WithDefault("15s")
    @Durations(min = "10ms", max = "5M")
    Duration timeout();

    /** How long to wait after a delivery has failed; the time doubles after each failure, up to {@link #maxRetryDelay()}. */
    @WithDefault("1s")
    @Durations(min = "10ms", max = "1H")
    Duration retryDelay();

    /** The longest time between two tries, also where a sink asks for more. */
    @WithDefault("15M")
    @Durations(min = "10ms", max = "24H")
    Duration maxRetryDelay();
}
