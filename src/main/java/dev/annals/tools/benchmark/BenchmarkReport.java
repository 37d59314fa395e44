package dev.annals.tools.benchmark;

import dev.annals.core.sequence.Sequences;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.ServicePool;
import io.quarkus.arc.Unremovable;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.Dependent;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.eclipse.microprofile.config.Config;

/** Measures as {@link BenchmarkOptions} say, and reports the results. */
@Dependent
@Unremovable
@SuppressWarnings("SystemOut") // a command line tool
class BenchmarkReport {

    private static final List<Integer> THREADS = List.of(10, 50);
    /**
     * The number of transactions is divided by this if they run one at a time, because these would take most of the time.
     */
    private static final int ONE_AT_A_TIME = 10;

    private static final int WRITERS = 16;
    private static final int GROUPS = 100;
    /** Values per second with 10 and with 50 threads and 10 ms transactions, as Google published them. */
    private static final Map<BenchmarkMode, String> SPANNER = Map.of(
            BenchmarkMode.SYNCHRONOUS, "34 / 30.6",
            BenchmarkMode.ASYNCHRONOUS, "66.5 / 78.1",
            BenchmarkMode.BATCH, "494 / 1195",
            BenchmarkMode.ASYNC_BATCH, "512 / 1622");

    private final ServicePool pools;
    private final Sequences sequences;
    private final Config config;

    BenchmarkReport(Pool pool, ServicePool pools, Sequences sequences, Config config) {
        this.pools = pools;
        this.sequences = sequences;
        this.config = config;
    }

    /**
     * Measures.
     *
     * @param arguments the command line, which the report shows
     */
    void make(BenchmarkOptions options, List<String> arguments)
            throws SQLException, InterruptedException, ExecutionException, IOException {
        if (options.all) {
            measureAll(options, arguments);
        } else {
            BenchmarkRun.Result result = measure(options);
            System.out.printf(
                    Locale.ROOT,
                    "%s, %d threads, %d iterations, transactions of %d ms, batches of %d, low-water mark %d%n"
                            + "%.1f values/s%np50 %.2f ms%np75 %.2f ms%np90 %.2f ms%np99 %.2f ms%n",
                    options.mode,
                    options.threads,
                    options.iterations,
                    options.transactionLatency.toMillis(),
                    options.batchSize,
                    options.lowWaterMark,
                    result.perSecond(),
                    result.p50(),
                    result.p75(),
                    result.p90(),
                    result.p99());
        }
    }

    private BenchmarkRun.Result measure(BenchmarkOptions options)
            throws SQLException, InterruptedException, ExecutionException {
        DatabaseUrl database = DatabaseUrl.configured(config)
                .orElseThrow(() -> new IllegalStateException("the database is named at start"));
        Pool pool = pools.open(options.threads);
        try {
            return new BenchmarkRun(options, pool, sequences, database).measure();
        } finally {
            pool.close().await().indefinitely();
        }
    }

    private void measureAll(BenchmarkOptions options, List<String> arguments)
            throws SQLException, InterruptedException, ExecutionException, IOException {
        String kinds = kindsTable(options);
        String rows = rowsTable(options);
        Runtime machine = Runtime.getRuntime();
        String text = template()
                .replace("{arguments}", String.join(" ", arguments))
                .replace(
                        "{machine}",
                        machine.availableProcessors() + " processors, " + System.getProperty("os.name") + " "
                                + System.getProperty("os.arch") + ", Java "
                                + Runtime.version().feature())
                .replace(
                        "{settings}",
                        String.format(
                                Locale.ROOT,
                                "%d transactions of %d ms per line (a tenth as many where they run one at a time), after"
                                        + " %d ms of warm-up, batches of %d, low-water mark %d",
                                options.iterations,
                                options.transactionLatency.toMillis(),
                                options.warmUp.toMillis(),
                                options.batchSize,
                                options.lowWaterMark))
                .replace("{rounds}", Integer.toString(options.rounds))
                .replace("{kinds}", kinds)
                .replace("{rows}", rows);
        Path parent = options.output.toAbsolutePath().getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        Files.writeString(options.output, text);
    }

    private String kindsTable(BenchmarkOptions options) throws SQLException, InterruptedException, ExecutionException {
        StringBuilder table = new StringBuilder();
        print(
                table,
                "| kind | threads | values/s | of the limit | p50 ms | p75 ms | p90 ms | p99 ms | Spanner, 10 / 50 threads |");
        print(table, "|---|---:|---:|---:|---:|---:|---:|---:|---:|");
        for (int threads : THREADS) {
            for (BenchmarkMode mode : BenchmarkMode.values()) {
                BenchmarkOptions one = options.with(mode, threads);
                if (mode.oneAtATime()) {
                    one.iterations = Math.max(1, options.iterations / ONE_AT_A_TIME);
                }
                Compared compared = compare(one);
                BenchmarkRun.Result result = compared.result();
                print(
                        table,
                        String.format(
                                Locale.ROOT,
                                "| `%s` | %d | %.1f | %.0f %% | %.2f | %.2f | %.2f | %.2f | %s |",
                                mode,
                                threads,
                                result.perSecond(),
                                100 * compared.ofLimit(),
                                result.p50(),
                                result.p75(),
                                result.p90(),
                                result.p99(),
                                SPANNER.getOrDefault(mode, "")));
            }
        }
        return table.toString();
    }

    private record Compared(BenchmarkRun.Result result, double ofLimit) {}

    /** Measures a mode and its limit in turns, and takes the round with the median ratio. */
    private Compared compare(BenchmarkOptions options) throws SQLException, InterruptedException, ExecutionException {
        List<Compared> rounds = new ArrayList<>();
        for (int round = 0; round < options.rounds; round++) {
            double limit = measure(limit(options)).perSecond();
            BenchmarkRun.Result result = measure(options);
            rounds.add(new Compared(result, result.perSecond() / limit));
        }
        rounds.sort(Comparator.comparingDouble(Compared::ofLimit));
        return rounds.get(options.rounds / 2);
    }

    private static BenchmarkOptions limit(BenchmarkOptions options) {
        return switch (options.mode) {
            case SYNCHRONOUS, MAX_PLUS_ONE -> options.with(options.mode, 1);
            case IDENTITY, COMMIT_ORDERED -> options.with(BenchmarkMode.IDENTITY, options.threads);
            case NONE,
                    ASYNCHRONOUS,
                    BATCH,
                    ASYNC_BATCH,
                    PSEUDO_RANDOM,
                    COMPOSITE,
                    RECYCLED_SERIES,
                    BIT_REVERSED,
                    NATIVE -> options.with(BenchmarkMode.NONE, options.threads);
        };
    }

    /** COMMIT_ORDERED beside an identity column, in turns, because both are fast enough for noise to matter. */
    private String rowsTable(BenchmarkOptions options) throws SQLException, InterruptedException, ExecutionException {
        StringBuilder table = new StringBuilder();
        print(table, "| transaction | round | `IDENTITY` rows/s | `COMMIT_ORDERED` rows/s | ratio |");
        print(table, "|---|---:|---:|---:|---:|");
        for (long millis : new long[] {0, options.transactionLatency.toMillis()}) {
            for (int round = 1; round <= options.rounds; round++) {
                double identity = rowsPerSecond(options, BenchmarkMode.IDENTITY, millis);
                double ordered = rowsPerSecond(options, BenchmarkMode.COMMIT_ORDERED, millis);
                print(
                        table,
                        String.format(
                                Locale.ROOT,
                                "| %d ms | %d | %.0f | %.0f | %.2f |",
                                millis,
                                round,
                                identity,
                                ordered,
                                ordered / identity));
            }
        }
        return table.toString();
    }

    private double rowsPerSecond(BenchmarkOptions options, BenchmarkMode mode, long millis)
            throws SQLException, InterruptedException, ExecutionException {
        BenchmarkOptions writers = options.with(mode, WRITERS);
        writers.groups = GROUPS;
        writers.transactionLatency = Duration.ofMillis(millis);
        writers.iterations = options.rowIterations;
        return measure(writers).perSecond();
    }

    private static void print(StringBuilder table, String line) {
        System.out.println(line);
        table.append(line).append('\n');
    }

    private static String template() throws IOException {
        try (InputStream file = BenchmarkReport.class.getResourceAsStream("/sequence-benchmark.md")) {
            if (file == null) {
                throw new IllegalStateException("missing resource /sequence-benchmark.md");
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
