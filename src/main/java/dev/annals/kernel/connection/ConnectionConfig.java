package dev.annals.kernel.connection;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.arc.Unremovable;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on connections. They apply to each port of the service separately. */
// It is read where nothing is injected: see ConnectionLimits.
@Unremovable
@ConfigMapping(prefix = "annals.connections")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface ConnectionConfig {

    /** Open connections of each port; 0 means one per 32 KiB of the heap, at most 32,768. */
    @WithDefault("0")
    @Min(0)
    @Max(1_000_000)
    int max();

    /** Open connections from one address (of IPv6, one /64); {@code annals.trusted-proxies} have no such limit. */
    @WithDefault("2048")
    @Min(1)
    @Max(1_000_000)
    int perAddress();

    /** The longest time for the head of a request. */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "5M")
    Duration headTime();

    /** The longest time of a connection without a request, and of an answer that its client does not read, unless the answer has a limit of its own. */
    @WithDefault("75s")
    @Durations(min = "1s", max = "1H")
    Duration idleTime();

    /**
     * Bytes of all answers that wait for their clients; 0 means an eighth of the heap. Beyond that the slowest clients are cut off.
     *
     * <p>Bytes that all clients share, such as the viewer's files, do not count.
     */
    @WithDefault("0")
    @Min(0)
    @Max(1_099_511_627_776L)
    long unsentBytes();
}
