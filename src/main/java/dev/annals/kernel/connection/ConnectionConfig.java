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

    /** How many connections may be open; 0 means one per 32 KiB of the heap, but at most 32,768. */
    @WithDefault("0")
    @Min(0)
    @Max(1_000_000)
    int max();

    /**
     * How many connections from one address may be open. Of an IPv6 address the first 64 bits count. This does not apply to
     * {@code annals.trusted-proxies}, since all clients behind a proxy come from its address.
     */
    @WithDefault("2048")
    @Min(1)
    @Max(1_000_000)
    int perAddress();

    /** How long the head of a request may take, from its first byte. */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "5M")
    Duration headTime();

    /** How long a connection may stay open without a request, and how long a client may take nothing of an answer. Pages, exports and
     * streams have limits of their own. */
    @WithDefault("75s")
    @Durations(min = "1s", max = "1H")
    Duration idleTime();

    /**
     * How many bytes of answers may wait in memory until their clients take them, on all connections together; 0 means an eighth of the
     * heap. If there are more, the clients that have taken nothing for the longest are cut off. What is the same for all clients, such
     * as the viewer's files, does not count.
     */
    @WithDefault("0")
    @Min(0)
    @Max(1_099_511_627_776L)
    long unsentBytes();

    /** How many requests may have sent more than 4 KiB of a head that is not yet complete. */
    @WithDefault("128")
    @Min(1)
    @Max(100_000)
    int largeHeads();
}
