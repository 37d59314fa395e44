package dev.annals.bench.micro;

import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Keys beside those of other libraries, and the texts of the API. */
public final class MicroPart implements Part {

    private static final Map<String, String> GENERATORS = generators();
    /** Every library's generators whose keys are in order within a process. */
    private static final List<String> MONOTONIC =
            List.of("creatorV7", "creatorV7PlusOne", "creatorV6", "jugV7", "jugV6");

    private static final Map<String, String> TEXTS = texts();

    private static Map<String, String> generators() {
        Map<String, String> titles = new LinkedHashMap<>();
        titles.put("sequentialGuid", "**SequentialGuid.next()**");
        titles.put("sequentialGuidClocked", "**the same, looking at the clock for every key**");
        titles.put("sequentialGuidBlock", "**SequentialGuid, a key of a block of 1,000**");
        titles.put("randomUuid", "UUID.randomUUID(), in no order");
        titles.put("creatorV7", "uuid-creator, version 7");
        titles.put("creatorV7PlusOne", "uuid-creator, version 7, plus one");
        titles.put("creatorV6", "uuid-creator, version 6");
        titles.put("jugV7", "java-uuid-generator, version 7");
        titles.put("jugV6", "java-uuid-generator, version 6");
        return titles;
    }

    private static Map<String, String> texts() {
        Map<String, String> titles = new LinkedHashMap<>();
        titles.put("readOne", "read a record, alone in a body");
        titles.put("readArray", "read a record, one of 200 in an array");
        titles.put("writePage", "write a record, one of a page of 200");
        titles.put("readCursor", "read a cursor");
        titles.put("writeCursor", "write a cursor");
        return titles;
    }

    @Override
    public String name() {
        return "micro";
    }

    @Override
    public String title() {
        return "Micro: keys, cursors and JSON";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws RunnerException {
        int cores = Runtime.getRuntime().availableProcessors();
        Map<String, Result<?>> alone = measure(GuidBenchmark.class, 1, settings);
        Map<String, Result<?>> together = measure(GuidBenchmark.class, cores, settings);
        Map<String, Result<?>> text = measure(TextBenchmark.class, 1, settings);
        return "JMH 1.37, throughput, one fork each. All threads share the generator. The ratio is that to the fastest"
                + " generator of another library whose keys are in order. While it is asked for more than 4,096,000"
                + " keys a second, as here, SequentialGuid runs ahead of the clock and need not look at it; the second row"
                + " is what a key costs otherwise.\n\n"
                + guids(alone, together, cores) + "\n" + texts(text);
    }

    private static Map<String, Result<?>> measure(Class<?> benchmark, int threads, Settings settings)
            throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .include("^" + benchmark.getName() + "\\.")
                        .mode(Mode.Throughput)
                        .threads(threads)
                        .forks(1)
                        .warmupIterations(settings.choose(1, 2))
                        .warmupTime(
                                TimeValue.milliseconds(settings.measurement().toMillis() / 2))
                        .measurementIterations(settings.rounds())
                        .measurementTime(
                                TimeValue.milliseconds(settings.measurement().toMillis() / 2))
                        .timeout(TimeValue.minutes(2))
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .run();
        Map<String, Result<?>> byName = new LinkedHashMap<>();
        for (RunResult result : results) {
            String name = result.getParams().getBenchmark();
            byName.put(name.substring(name.lastIndexOf('.') + 1), result.getPrimaryResult());
        }
        return byName;
    }

    private static Table guids(Map<String, Result<?>> alone, Map<String, Result<?>> together, int cores) {
        Table table = new Table("a key", "1 thread, million/s", "ratio", cores + " threads, million/s", "ratio");
        GENERATORS.forEach((name, title) -> table.row(
                title, millions(alone, name), ratio(alone, name), millions(together, name), ratio(together, name)));
        return table;
    }

    private static Table texts(Map<String, Result<?>> results) {
        Table table = new Table("1 thread", "million/s", "ns each");
        TEXTS.forEach((name, title) -> table.row(
                title,
                millions(results, name),
                String.format("%,.0f", 1e9 / results.get(name).getScore())));
        return table;
    }

    private static String millions(Map<String, Result<?>> results, String name) {
        return String.format("%,.2f", results.get(name).getScore() / 1e6);
    }

    private static String ratio(Map<String, Result<?>> results, String name) {
        double fastest = MONOTONIC.stream()
                .mapToDouble(other -> results.get(other).getScore())
                .max()
                .orElseThrow();
        return String.format("%.2f", results.get(name).getScore() / fastest);
    }
}
