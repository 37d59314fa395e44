package dev.annals.core.live;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on long polls and streams. All counts are per instance of the service. */
@ConfigMapping(prefix = "annals.live")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface LiveConfig {

    /**
     * How long to wait after reading the heads of the awaited feeds before reading them again. A record from a plain SQL
     * writer, or from another instance, can take that long to be noticed. While no client waits, nothing is read.
     */
    @WithDefault("25ms")
    @Durations(min = "1ms", max = "1s")
    Duration tick();

    /** How many heads of feeds one statement reads. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int headsPerStatement();

    /** How many pages are read for waiting clients at a time; each takes a connection from the pool. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int pageReads();

    /** How many bytes of pages that were just read are kept for those who ask for the same page a moment later. */
    @WithDefault("8388608")
    @Min(0)
    @Max(1_073_741_824)
    long keptBytes();

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

    /** How long a stream may be silent. Then it sends a comment, or the cursor that it has reached. */
    @WithDefault("15s")
    @Durations(min = "10ms", max = "5M")
    Duration heartbeat();

    /**
     * How long the client of a stream may read nothing while there is more to send. Then the stream is closed. Checked at
     * heartbeats.
     */
    @WithDefault("30s")
    @Durations(min = "10ms", max = "10M")
    Duration stall();

    /** After how long a stream is ended, so that its client reopens it and shows its token again. Checked at heartbeats. */
    @WithDefault("1h")
    @Durations(min = "10ms", max = "7D")
    Duration streamAge();

    /** How long clients are asked to wait before they reopen a broken stream. */
    @WithDefault("1s")
    @Durations(min = "1ms", max = "10M")
    Duration retry();

    /**
     * How many bytes of records, as JSON, are read for a stream at a time, unless a single record has more. A stream holds
     * that many for a slow client.
     */
    @WithDefault("262144")
    @Min(1_024)
    @Max(67_108_864)
    int streamBytes();
}
