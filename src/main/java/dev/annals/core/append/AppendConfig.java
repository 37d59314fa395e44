package dev.annals.core.append;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on writing. */
@ConfigMapping(prefix = "annals.append")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface AppendConfig {

    /**
     * Transactions that append at a time, each on a connection of its own.
     *
     * <p>Each appends to as many projects as have records waiting. What arrives while all of them are in flight goes into the next one.
     */
    @WithDefault("2")
    @Min(1)
    @Max(64)
    int writers();

    /** Bytes of JSON that may wait in all queues; a project's may have 32 MiB. With a small heap {@code annals.memory.bytes} is the tighter limit. */
    @WithDefault("134217728")
    @Min(65_536)
    @Max(17_179_869_184L)
    long totalQueueBytes();

    /**
     * How often a batch is retried after its connection broke; by default for half a minute, in which a cluster finds a new primary.
     *
     * <p>Also after its transaction lost to another one.
     */
    @WithDefault("20")
    @Min(0)
    @Max(100)
    int retries();
}
