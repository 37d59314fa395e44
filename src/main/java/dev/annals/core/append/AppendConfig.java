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
     * Transactions that append to a database at a time, each on a connection of its own.
     *
     * <p>Each appends to many projects. Records that arrive while all are in flight join the next transaction.
     */
    @WithDefault("2")
    @Min(1)
    @Max(64)
    int writers();

    /** Bytes of JSON that may wait in all queues. Of several databases, each gets no more than it leaves free. A project's queue has at most 32 MiB. With a small heap {@code annals.memory.bytes} is the tighter limit. */
    @WithDefault("134217728")
    @Min(65_536)
    @Max(17_179_869_184L)
    long totalQueueBytes();

    /**
     * Retries of a batch after its connection broke or its transaction lost to another one.
     *
     * <p>The default lasts for half a minute, in which a cluster finds a new primary.
     */
    @WithDefault("20")
    @Min(0)
    @Max(100)
    int retries();
}
