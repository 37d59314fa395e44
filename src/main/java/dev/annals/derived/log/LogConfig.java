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

/** Logs that readers can verify: keys, and what is signed when. */
@ConfigMapping(prefix = "annals.log")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface LogConfig {

    /**
     * With what the origins of logs begin. Readers know their logs by it: never change it. Default: the host of {@code ANNALS_PUBLIC_URL}, or {@code localhost}.
     *
     * <p>Keys of logs are derived from it.
     */
    @Texts("[0-9a-z.-]{1,253}(:[0-9]{1,5})?(/[0-9A-Za-z._~-]+){0,5}")
    Optional<String> host();

    /**
     * A file with the secret behind the keys of all logs, from {@code annals log keygen}; keep a copy apart from the database's. Default: with its own database the service makes one; else logs are not signed.
     *
     * <p>Only the service may be able to read it. Beside it, in a directory of the same name with {@code .seen}, the service notes what it has signed.
     */
    Optional<Path> keyFile();

    /**
     * The secret itself, in place of {@link #keyFile()}. A restored database may then not be noticed.
     *
     * <p>What was signed is noted nowhere but in the database.
     */
    @Texts("annals-log-key/1:[0-9A-Za-z_-]{43}")
    @Secret
    Optional<String> key();

    /** A file with the secret that was used before: both sign while readers learn the new keys. */
    Optional<Path> previousKeyFile();

    /** How old a checkpoint may be; readers within this time share a signature. */
    @WithDefault("200ms")
    @Durations(min = "1ms", max = "1M")
    Duration interval();

    /**
     * Whether logs go on by themselves after a standby was promoted. Only synchronous replication makes that safe.
     *
     * <p>Also after the database was moved. Otherwise something that had been signed may be lost, and an operator has to decide.
     */
    @WithDefault("false")
    boolean trustPromotion();

    /**
     * Up to 16 witnesses that cosign checkpoints: each a key and, behind a space, its URL ([how](operating.md)).
     *
     * <p>A key is of type 4. The URL is the one below which {@code add-checkpoint} is: {@code https}, or {@code http} on this machine's loopback.
     */
    @Texts("[^+\\s,]{1,255}\\+[0-9a-f]{8}\\+[0-9A-Za-z+/=]{1,64} +https?://[!-+.-~/-]{1,1000}")
    Optional<List<String>> witnesses();

    /**
     * How many of them a checkpoint needs unless a reader asks for another number; with 0 it is the newest one, cosigned or not.
     *
     * <p>The reader's parameter is {@code witnesses}; proofs of records need as many.
     */
    @WithDefault("0")
    @Min(0)
    @Max(16)
    int witnessesNeeded();

    /** How often each log that has grown is offered to its witnesses. */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "24H")
    Duration witnessInterval();
}
