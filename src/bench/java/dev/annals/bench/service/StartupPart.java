package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The packaged service's time to its first answer, its memory, and its rate of appends once it is
 * warm: on the JVM, and as a native executable where {@code mvn -Pnative package} has made one.
 */
public final class StartupPart implements Part {

    private static final int CONNECTIONS = 32;
    private static final long REST_MILLIS = 3_000;
    private static final Duration LOAD = Duration.ofSeconds(8);
    static final String RUN = Path.of("docker", "run-jvm").toString();
    private static final String TRAINED = "`docker/run-jvm`";
    private static final String NATIVE = "native executable";
    private static final List<Path> ARCHIVES =
            List.of(Path.of("target", "quarkus-app", "annals.aot"), Path.of("target", "quarkus-app", "annals.jsa"));

    /** One start. */
    private record Start(double seconds, long atRest, long underLoad) {}

    @Override
    public String name() {
        return "startup";
    }

    @Override
    public String title() {
        return "Start: time to the first answer, and memory";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        Map<String, List<Start>> starts = new LinkedHashMap<>();
        List<Path> executable = executable();
        String rates = "";
        try (BenchDatabase database = server.createDatabase("annals_bench_startup")) {
            database.migrate();
            Targets targets = new Targets(database);
            String java =
                    Path.of(System.getProperty("java.home"), "bin", "java").toString();
            for (int round = 0; round < settings.choose(3, 7); round++) {
                deleteArchives();
                measure(
                        starts,
                        "`java -jar quarkus-run.jar`",
                        targets,
                        List.of(
                                java,
                                "-jar",
                                Path.of("target", "quarkus-app", "quarkus-run.jar")
                                        .toString()));
                measure(starts, "`docker/run-jvm`, not trained", targets, List.of(RUN));
                train();
                measure(starts, TRAINED, targets, List.of(RUN));
                for (Path file : executable) {
                    measure(starts, NATIVE, targets, List.of(file.toString()));
                }
            }
            if (!executable.isEmpty()) {
                train();
                rates = rates(targets, executable.get(0), settings);
            }
        } finally {
            deleteArchives();
        }
        Table table = new Table("start", "first answer, s", "at rest, MB", "under load, MB");
        starts.forEach((name, measured) -> table.row(
                name,
                String.format(
                        "%.2f", median(measured.stream().map(Start::seconds).toList())),
                megabytes(measured.stream().map(Start::atRest).toList()),
                megabytes(measured.stream().map(Start::underLoad).toList())));
        return """
                The packaged service on an existing database that is up to date, from the start of the process to the first
                200 of `/q/health/ready`, which asks the database; its resident memory three seconds later, and at the end of
                %d s of appends over %d connections. Medians of %d starts each, in turns. `docker/run-jvm --train` made the
                archive of classes that %s starts from.

                """.formatted(
                                LOAD.toSeconds(),
                                CONNECTIONS,
                                starts.values().iterator().next().size(),
                                TRAINED)
                + table
                + rates;
    }

    /** The one that has been built, if any. */
    static List<Path> executable() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("target"))) {
            return files.filter(file -> file.toString().endsWith("-runner"))
                    .limit(1)
                    .toList();
        }
    }

    /** Both run at the same time on the same database, and are loaded in turns. */
    private static String rates(Targets targets, Path executable, Settings settings) throws Exception {
        try (Target jvm = targets.startAnnalsBy(List.of(RUN));
                Target built = targets.startAnnalsBy(List.of(executable.toString()))) {
            Map<String, Target> ways = Map.of(TRAINED, jvm, NATIVE, built);
            for (Target way : ways.values()) {
                LoadClient.closedLoop(way, CONNECTIONS, Calls.single(way, 1), settings.warmUp());
            }
            Rates rates = Rates.ofRounds(List.of(TRAINED, NATIVE), settings.rounds(), name -> {
                Target way = Objects.requireNonNull(ways.get(name));
                return LoadClient.closedLoop(way, CONNECTIONS, Calls.single(way, 1), settings.measurement());
            });
            Table table = new Table(CONNECTIONS + " connections, warm", "records/s", "lowest – highest", "to the JVM");
            for (String name : List.of(TRAINED, NATIVE)) {
                table.row(
                        name,
                        String.format("%,.0f", rates.median(name)),
                        rates.range(name),
                        String.format("%.2f", rates.ratio(name, TRAINED)));
            }
            return "\nAppends of one record each, after %d s of them.\n\n"
                            .formatted(settings.warmUp().toSeconds())
                    + table;
        }
    }

    private static void measure(Map<String, List<Start>> starts, String name, Targets targets, List<String> command)
            throws IOException, InterruptedException {
        try (Target annals = targets.startAnnalsBy(command)) {
            TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
            long atRest = annals.process().residentBytes();
            LoadClient.closedLoop(annals, CONNECTIONS, Calls.single(annals, 1), LOAD);
            Start start = new Start(
                    annals.process().secondsToFirstAnswer(),
                    atRest,
                    annals.process().residentBytes());
            Progress.say(name + " " + start);
            starts.computeIfAbsent(name, none -> new ArrayList<>()).add(start);
        }
    }

    private static void train() throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(RUN, "--train").inheritIO();
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().keySet().removeIf(variable -> variable.startsWith("ANNALS_"));
        if (builder.start().waitFor() != 0) {
            throw new IOException(RUN + " --train failed");
        }
    }

    private static void deleteArchives() throws IOException {
        for (Path archive : ARCHIVES) {
            Files.deleteIfExists(archive);
        }
    }

    private static String megabytes(List<Long> bytes) {
        return String.format("%.0f", median(bytes) / 1e6);
    }

    private static <T extends Number & Comparable<T>> double median(List<T> values) {
        return values.stream().sorted().toList().get(values.size() / 2).doubleValue();
    }
}
