package dev.annals.bench.micro;

import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.annotations.Mode;
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
        titles.put("readBatch", "read a record, one of 200 in a batch");
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
    public String run(BenchServer server, Settings settings) throws Exception {
        int cores = Runtime.getRuntime().availableProcessors();
        Rates alone = measure(GuidBenchmark.class, GENERATORS, 1, settings);
        Rates together = measure(GuidBenchmark.class, GENERATORS, cores, settings);
        Rates text = measure(TextBenchmark.class, TEXTS, 1, settings);
        return "JMH 1.37, throughput, a fresh JVM for each round. All threads share the generator. The ratio is that to the"
                + " fastest generator of another library whose keys are in order.\n\n"
                + guids(alone, together, cores) + "\n" + texts(text);
    }

    private static Rates measure(Class<?> benchmark, Map<String, String> titles, int threads, Settings settings)
            throws Exception {
        return Rates.ofRounds(
                List.copyOf(titles.keySet()),
                settings.rounds(),
                name -> throughput(benchmark, name, threads, settings));
    }

    private static double throughput(Class<?> benchmark, String name, int threads, Settings settings)
            throws RunnerException {
        TimeValue iteration = TimeValue.milliseconds(settings.measurement().toMillis() / 2);
        return new Runner(new OptionsBuilder()
                        .include("^" + Pattern.quote(benchmark.getName() + "." + name) + "$")
                        .mode(Mode.Throughput)
                        .threads(threads)
                        .forks(1)
                        .warmupIterations(1)
                        .warmupTime(iteration)
                        .measurementIterations(1)
                        .measurementTime(iteration)
                        .timeout(TimeValue.minutes(2))
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .runSingle()
                .getPrimaryResult()
                .getScore();
    }

    private static Table guids(Rates alone, Rates together, int cores) {
        Table table = new Table("a key", "1 thread, million/s", "ratio", cores + " threads, million/s", "ratio");
        String fastestAlone = fastest(alone);
        String fastestTogether = fastest(together);
        GENERATORS.forEach((name, title) -> table.row(
                title,
                millions(alone, name),
                String.format("%.2f", alone.ratio(name, fastestAlone)),
                millions(together, name),
                String.format("%.2f", together.ratio(name, fastestTogether))));
        return table;
    }

    private static String fastest(Rates rates) {
        return MONOTONIC.stream().max(Comparator.comparingDouble(rates::median)).orElseThrow();
    }

    private static Table texts(Rates rates) {
        Table table = new Table("1 thread", "million/s", "ns each");
        TEXTS.forEach((name, title) ->
                table.row(title, millions(rates, name), String.format("%,.0f", 1e9 / rates.median(name))));
        return table;
    }

    private static String millions(Rates rates, String name) {
        return String.format("%,.2f", rates.median(name) / 1e6);
    }
}
