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

    /** How many bytes they may hold altogether; 0 means {@link #heapPercent()} of the heap. */
    @WithDefault("0")
    @Min(0)
    @Max(1_099_511_627_776L)
    long bytes();

    /** The share of the Java heap that they may hold, in percent. The rest is for everything else that requests need. */
    @WithDefault("35")
    @Min(5)
    @Max(80)
    int heapPercent();

    /** The share of that total that one caller may hold, in percent. */
    @WithDefault("25")
    @Min(1)
    @Max(100)
    int callerPercent();

    /** How many bytes one caller may hold in any case, within the total: enough for one body of the greatest size. */
    @WithDefault("67108864")
    @Min(1_048_576)
    @Max(1_099_511_627_776L)
    long callerBytes();

    /** How many requests may wait for memory; the next one fails at once. */
    @WithDefault("1024")
    @Min(1)
    @Max(100_000)
    int waiting();

    /** How long a request waits for memory. */
    @WithDefault("5s")
    @Durations(min = "1ms", max = "1M")
    Duration maxWait();
}
