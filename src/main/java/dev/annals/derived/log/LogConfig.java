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
     * With what the origin of each log begins, such as {@code audit.example.org}. Readers know their log by it, and its key is
     * derived from it: never change it while logs go on. Without this setting it is that of {@code ANNALS_PUBLIC_URL}, or
     * {@code localhost}.
     */
    @Texts("[0-9a-z.-]{1,253}(:[0-9]{1,5})?(/[0-9A-Za-z._~-]+){0,5}")
    Optional<String> host();

    /**
     * A file with the secret from which the keys of all logs are derived, as {@code annals log keygen} makes it. Only the
     * service may be able to read it; keep a copy where no copy of the database is. Beside it, in a directory of the same name
     * with {@code .seen}, the service notes what it has signed. Without a key, the service with its own database makes one in
     * its data directory; with another database, logs are not signed.
     */
    Optional<Path> keyFile();

    /**
     * The secret itself, in place of a {@link #keyFile()}. What was signed is then noted nowhere but in the database, so that a
     * restored one may not be noticed.
     */
    @Texts("annals-log-key/1:[0-9A-Za-z_-]{43}")
    @Secret
    Optional<String> key();

    /**
     * A file with the secret that was used before. While it is set, both sign, so that readers who know the old keys have time to
     * learn the new ones.
     */
    Optional<Path> previousKeyFile();

    /** How old a checkpoint may be that a reader gets: those who ask within this time share a signature. */
    @WithDefault("200ms")
    @Durations(min = "1ms", max = "1M")
    Duration interval();

    /**
     * Whether logs go on by themselves after a standby was promoted or the database was moved. Only where replication is
     * synchronous is it certain that nothing was lost that had been signed; otherwise an operator has to decide.
     */
    @WithDefault("false")
    boolean trustPromotion();

    /**
     * Witnesses, who cosign checkpoints of logs that only grow: up to 16, separated by commas. Each is a key of type 4 and, behind
     * a space, the URL below which {@code add-checkpoint} is: {@code https}, or {@code http} on this machine's loopback. See
     * {@code docs/operating.md}.
     */
    @Texts("[^+\\s,]{1,255}\\+[0-9a-f]{8}\\+[0-9A-Za-z+/=]{1,64} +https?://[!-+.-~/-]{1,1000}")
    Optional<List<String>> witnesses();

    /**
     * How many witnesses have to have cosigned the checkpoint where a checkpoint, or the proof of a record, is asked for without
     * the parameter {@code witnesses}; with 0 it is the newest one, cosigned or not.
     */
    @WithDefault("0")
    @Min(0)
    @Max(16)
    int witnessesNeeded();

    /** How often each log that has grown is offered to its witnesses. */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "24H")
    Duration witnessInterval();

    /** How long a witness may take for its answer. */
    @WithDefault("5s")
    @Durations(min = "10ms", max = "1M")
    Duration witnessTimeout();
}
