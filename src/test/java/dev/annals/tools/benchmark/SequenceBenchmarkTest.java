package dev.annals.tools.benchmark;

import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

@QuarkusTest
class SequenceBenchmarkTest {

    @Inject
    BenchmarkReport report;

    private final SequenceBenchmark command = new SequenceBenchmark();
    private final CommandLine line = new CommandLine(command).setCaseInsensitiveEnumValuesAllowed(true);

    @Test
    void theCommandLineOfTheDocumentationIsRead() {
        BenchmarkOptions options = parse(
                "--mode=async_batch",
                "--threads=50",
                "--iterations=2000",
                "--batch-size=200",
                "--low-water-mark=50",
                "--transaction-latency=10ms");
        options.requireInLimits(line);
        assertThat(options.mode).isEqualTo(BenchmarkMode.ASYNC_BATCH);
        assertThat(options.threads).isEqualTo(50);
        assertThat(options.transactionLatency).isEqualTo(Duration.ofMillis(10));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--mode=FASTEST",
                "--threads=0",
                "--batch-size=0",
                "--warm-up=61s",
                "--low-water-mark=201",
                "--rounds=0",
                "--speed=9",
                "--transaction-latency=x"
            })
    void aWrongCommandLineIsRefusedBeforeAnythingIsStarted(String argument) {
        assertThat(line.execute(argument)).isEqualTo(2);
        assertThat(line.execute("--help")).isZero();
    }

    @Test
    void allModesAreMeasuredAndTheTableIsWritten(@TempDir Path folder) throws Exception {
        Path page = folder.resolve("docs/sequences.md");
        String[] arguments = {
            "--all",
            "--iterations=5",
            "--row-iterations=10",
            "--rounds=1",
            "--warm-up=1ms",
            "--transaction-latency=1ms",
            "--output=" + page
        };

        report.make(parse(arguments), List.of(arguments));

        String text = Files.readString(page);
        for (BenchmarkMode mode : BenchmarkMode.values()) {
            assertThat(text).contains("| `" + mode + "` | 10 |", "| `" + mode + "` | 50 |");
        }
        assertThat(text)
                .contains("512 / 1622")
                .contains("sequence-benchmark --all --iterations=5 ")
                .doesNotContain("{arguments}", "{machine}", "{rounds}", "{rows}", "NaN");
    }

    private BenchmarkOptions parse(String... arguments) {
        line.parseArgs(arguments);
        return command.options;
    }
}
