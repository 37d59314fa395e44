package dev.annals.live;

import dev.annals.config.ConfigLimits.Durations;
import dev.annals.config.ConfigLimits.Max;
import dev.annals.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of long polls and streams. All counts are per instance of the service. */
@ConfigMapping(prefix = "annals.live")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface LiveConfig {

    /**
     * How long after one look at the heads of the awaited feeds the next one is taken: how late a record of a plain SQL
     * writer, or of another instance, can be noticed. Nobody looks while nobody waits.
     */
    @WithDefault("25ms")
    @Durations(min = "1ms", max = "1s")
    Duration tick();

    /** How many feeds' heads one statement reads. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int headsPerStatement();

    /** How many pages are read for waiting clients at a time; each takes a connection of the pool. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int pageReads();

    /** How many long polls may wait. */
    @WithDefault("20000")
    @Min(1)
    @Max(1_000_000)
    int waits();

    /** How many long polls of one project may wait. */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int projectWaits();

    /** How many streams may be open. */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int streams();

    /** How many streams of one project may be open. */
    @WithDefault("2500")
    @Min(1)
    @Max(1_000_000)
    int projectStreams();

    /** A stream that has sent nothing for so long sends a comment, or how far it has come. */
    @WithDefault("15s")
    @Durations(min = "10ms", max = "5M")
    Duration heartbeat();

    /** A stream whose client has read nothing for so long, while there was more to send, is closed. Checked at heartbeats. */
    @WithDefault("30s")
    @Durations(min = "10ms", max = "10M")
    Duration stall();

    /**
     * After how long a stream is ended, so that its client opens it anew and shows its token again. Checked at heartbeats.
     */
    @WithDefault("1h")
    @Durations(min = "10ms", max = "7D")
    Duration streamAge();

    /** How long clients are asked to wait before they open a broken stream again. */
    @WithDefault("1s")
    @Durations(min = "1ms", max = "10M")
    Duration retry();

    /**
     * How many bytes the records have that are read for a stream at a time, as JSON, unless a single one has more; so many
     * it holds for a client that is slow.
     */
    @WithDefault("262144")
    @Min(1_024)
    @Max(67_108_864)
    int streamBytes();
}
