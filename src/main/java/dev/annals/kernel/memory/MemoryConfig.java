package dev.annals.kernel.memory;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on the memory that requests and answers may hold at one time. */
@ConfigMapping(prefix = "annals.memory")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface MemoryConfig {

    /** Bytes that requests and answers may hold in memory; 0 means 35 % of the heap. */
    @WithDefault("0")
    @Min(0)
    @Max(1_099_511_627_776L)
    long bytes();

    /** Bytes that one caller may hold; 0 means a quarter of {@link #bytes()}, at least 64 MiB. */
    @WithDefault("0")
    @Min(0)
    @Max(1_099_511_627_776L)
    long callerBytes();

    /** The longest wait of a request for memory. */
    @WithDefault("5s")
    @Durations(min = "1ms", max = "1M")
    Duration maxWait();
}
