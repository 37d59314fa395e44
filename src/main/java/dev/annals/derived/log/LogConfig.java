package dev.annals.derived.log;

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

/** Verifiable logs: keys, checkpoints and witnesses. */
@ConfigMapping(prefix = "annals.log")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface LogConfig {

    /**
     * The beginning of the origins of logs. Never change it: readers know their logs by it. Default: the host of {@code ANNALS_PUBLIC_URL}, or {@code localhost}.
     *
     * <p>Keys of logs depend on it.
     */
    @Texts("[0-9a-z.-]{1,253}(:[0-9]{1,5})?(/[0-9A-Za-z._~-]+){0,5}")
    Optional<String> host();

    /**
     * A file with the secret of all logs' keys, from {@code annals log keygen}; keep a copy apart from copies of the database. Default: with its own database the service makes one; else logs are not signed.
     *
     * <p>Let only the service read it.
     */
    Optional<Path> keyFile();

    /** The folder of the newest checkpoints that were released, to be left out of backups. Default: the name of {@link #keyFile()} with {@code .seen}. */
    Optional<Path> seenDir();

    /**
     * The secret itself, in place of {@link #keyFile()}. The service may then not notice that the database was restored.
     *
     * <p>Only the database stores what was signed.
     */
    @Texts("annals-log-key/1:[0-9A-Za-z_-]{43}")
    @Secret
    Optional<String> key();

    /** A file with the previous secret: both sign while readers learn the new keys. */
    Optional<Path> previousKeyFile();

    /** The largest age of a checkpoint; readers within this time share a signature. */
    @WithDefault("200ms")
    @Durations(min = "1ms", max = "1M")
    Duration interval();

    /**
     * Whether logs continue by themselves after a standby was promoted. Only synchronous replication makes that safe.
     *
     * <p>Or after the database was moved. Without it, signed notes may be lost, and an operator has to decide.
     */
    @WithDefault("false")
    boolean trustPromotion();

    /**
     * Up to 16 witnesses that cosign checkpoints: each a key, a space, and its URL ([how](operating.md)).
     *
     * <p>The key is of type 4. The URL is the one above {@code add-checkpoint}: {@code https}, or {@code http} on this machine's loopback.
     */
    @Texts("[^+\\s,]{1,255}\\+[0-9a-f]{8}\\+[0-9A-Za-z+/=]{1,64} +https?://[!-+.-~/-]{1,1000}")
    Optional<List<String>> witnesses();

    /**
     * The cosignatures that a checkpoint needs unless a reader asks for another number; with 0 it is the newest one, cosigned or not.
     *
     * <p>The reader's parameter is {@code witnesses}; proofs of records need as many.
     */
    @WithDefault("0")
    @Min(0)
    @Max(16)
    int witnessesNeeded();

    /** The interval at which each log that has grown is offered to its witnesses. */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "24H")
    Duration witnessInterval();
}
