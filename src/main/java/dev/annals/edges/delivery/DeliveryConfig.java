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

/** Streams, which deliver feeds to other systems: allowed sinks, and limits. */
@ConfigMapping(prefix = "annals.streams")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface DeliveryConfig {

    /** A URL with at least one part of a path, and without parameters. */
    String PLACE = "[a-z0-9+]+://[^/?#*\\s]+(/[^/?#*\\s]+)+(/\\*)?";

    /** Whether this instance delivers. Streams wait while no instance does. */
    @WithDefault("true")
    boolean enabled();

    /** Allowed sinks: hosts ({@code hooks.example.org}, {@code *.example.org}, {@code *}) at their public addresses, and addresses and networks, also private ones. Default: all public addresses. */
    @Texts("\\*|(\\*\\.)?[0-9A-Za-z]([0-9A-Za-z.-]{0,252})|[0-9A-Fa-f:.]+(/[0-9]{1,3})?")
    Optional<List<String>> allowedHosts();

    /**
     * A file with the key that encrypts sinks' secrets: 64 hexadecimal digits, the same for all instances. Default: with its own database the service makes one; otherwise sinks cannot have secrets.
     *
     * <p>{@code openssl rand -hex 32} makes one. Only the service may be able to read the file. If the key is lost, set each sink again.
     */
    Optional<Path> keyFile();

    /** The key itself, in place of {@link #keyFile()}. */
    @Texts("[0-9a-f]{64}")
    @Secret
    Optional<String> key();

    /**
     * Sinks where an admin's streams of all projects use the service's identity: URLs, perhaps ending in {@code /*}.
     *
     * <p>It is the identity of S3 sinks without a secret (keys by the chain of AWS's SDKs), of Kafka with {@code tls=mutual}, and of PostgreSQL with {@code sslcertmode=require}. Write a comma in a URL as {@code \,}.
     */
    @Texts(PLACE)
    Optional<List<String>> ownIdentity();

    /** The same for other streams. */
    @Texts(PLACE)
    Optional<List<String>> ownIdentityOfProjects();

    /** The client certificate, PEM. */
    Optional<Path> clientCertificateFile();

    /** Its PKCS#8 key. */
    Optional<Path> clientKeyFile();

    /**
     * After this time another instance takes over the streams of one that is gone.
     *
     * <p>An instance renews its leases three times in this time.
     */
    @WithDefault("6s")
    @Durations(min = "300ms", max = "10M")
    Duration lease();

    /** Streams of a database delivered at a time; half of them of one project. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int concurrent();

    /** Streams that a project may have. */
    @WithDefault("20")
    @Min(1)
    @Max(1_000)
    int perProject();

    /** The most records of a batch. */
    @WithDefault("100")
    @Min(1)
    @Max(1_000)
    int batchRecords();

    /**
     * The largest syslog message in bytes; longer records are cut. rsyslog accepts 8096 by default.
     *
     * <p>Receivers may cut longer messages: RFC 5425 asks them to accept 8192.
     */
    @WithDefault("8096")
    @Min(2_048)
    @Max(1_048_576)
    int syslogBytes();

    /** The most records of an object in an S3-compatible store. */
    @WithDefault("10000")
    @Min(1)
    @Max(100_000)
    int objectRecords();

    /**
     * The longest time that a record waits for others of its object.
     *
     * <p>The service checks sixty times in this time whether enough records wait.
     */
    @WithDefault("1H")
    @Durations(min = "10ms", max = "24H")
    Duration objectAge();

    /**
     * The time in which a sink must acknowledge a batch.
     *
     * <p>It begins with the look-up of the sink's name.
     */
    @WithDefault("15s")
    @Durations(min = "10ms", max = "5M")
    Duration timeout();

    /**
     * The longest pause between two tries. The first is a 900th of it, and each further one is twice as long.
     *
     * <p>It also limits the pause that a sink asks for.
     */
    @WithDefault("15M")
    @Durations(min = "10ms", max = "24H")
    Duration maxRetryDelay();
}
