package dev.annals.tools.benchmark;

import dev.annals.core.sequence.Sequence;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options of {@code sequence-benchmark}. */
@RegisterForReflection
final class BenchmarkOptions {

    @Option(names = "--mode", description = "One of ${COMPLETION-CANDIDATES}.")
    BenchmarkMode mode = BenchmarkMode.ASYNC_BATCH;

    @Option(
            names = "--threads",
            description = "Threads that run transactions one after the other. Default: ${DEFAULT-VALUE}.")
    int threads = 10;

    @Option(names = "--iterations", description = "Transactions of all threads together. Default: ${DEFAULT-VALUE}.")
    int iterations = 2_000;

    @Option(
            names = "--warm-up",
            converter = Milliseconds.class,
            description = "The time for which transactions run before they are measured. Default: 3s.")
    Duration warmUp = Duration.ofSeconds(3);

    @Option(names = "--batch-size", description = "For BATCH and ASYNC_BATCH. Default: ${DEFAULT-VALUE}.")
    int batchSize = 200;

    @Option(names = "--low-water-mark", description = "For ASYNC_BATCH. Default: ${DEFAULT-VALUE}.")
    int lowWaterMark = 50;

    @Option(
            names = "--transaction-latency",
            converter = Milliseconds.class,
            description =
                    "The time for which a transaction stays open for its other work, such as 10ms. Default: 10ms.")
    Duration transactionLatency = Duration.ofMillis(10);

    @Option(
            names = "--groups",
            description = "Groups that IDENTITY and COMMIT_ORDERED spread their rows over. Default: ${DEFAULT-VALUE}.")
    int groups = 1;

    @Option(
            names = "--row-iterations",
            description = "Rows of each measurement in the second table of --all. Default: ${DEFAULT-VALUE}.")
    int rowIterations = 10_000;

    @Option(
            names = "--all",
            description = "All modes with 10 and 50 threads, as a table that is also written to --output.")
    boolean all;

    @Option(
            names = "--rounds",
            description = "The measurements of each line of --all, which shows the median. Default: ${DEFAULT-VALUE}.")
    int rounds = 3;

    @Option(names = "--output", description = "The file for the table of --all. Default: ${DEFAULT-VALUE}.")
    Path output = Path.of("target", "sequences.md");

    BenchmarkOptions with(BenchmarkMode otherMode, int otherThreads) {
        BenchmarkOptions copy = new BenchmarkOptions();
        copy.mode = otherMode;
        copy.threads = otherThreads;
        copy.iterations = iterations;
        copy.warmUp = warmUp;
        copy.batchSize = batchSize;
        copy.lowWaterMark = lowWaterMark;
        copy.transactionLatency = transactionLatency;
        copy.groups = groups;
        copy.rounds = rounds;
        return copy;
    }

    /** @throws ParameterException if a number is outside its limits */
    void requireInLimits(CommandLine line) {
        require(line, "--threads", threads, 1, 64);
        require(line, "--iterations", iterations, 1, 10_000_000);
        require(line, "--warm-up in milliseconds", warmUp.toMillis(), 0, 60_000);
        require(line, "--batch-size", batchSize, 1, Sequence.Definition.MAX_BATCH_SIZE);
        require(line, "--low-water-mark", lowWaterMark, 0, batchSize);
        require(line, "--transaction-latency in milliseconds", transactionLatency.toMillis(), 0, 10_000);
        require(line, "--row-iterations", rowIterations, 1, 10_000_000);
        require(line, "--rounds", rounds, 1, 100);
        require(line, "--groups", groups, 1, 100_000);
    }

    private static void require(CommandLine line, String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw new ParameterException(
                    line, option + " is " + value + ", but has to be from " + min + " to " + max + ".");
        }
    }

    /** Reads {@code 10ms}, {@code 1s} or an ISO 8601 duration. */
    @RegisterForReflection
    static final class Milliseconds implements ITypeConverter<Duration> {
        @Override
        public Duration convert(String text) {
            String lower = text.strip().toLowerCase(Locale.ROOT);
            try {
                if (lower.endsWith("ms")) {
                    return Duration.ofMillis(Long.parseLong(lower.substring(0, lower.length() - 2)));
                }
                return Duration.parse(lower.startsWith("p") ? lower : "pt" + lower);
            } catch (NumberFormatException | DateTimeParseException e) {
                throw new CommandLine.TypeConversionException("'" + text + "' is not a duration such as 10ms or 1s");
            }
        }
    }
}
