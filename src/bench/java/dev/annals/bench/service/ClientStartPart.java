package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The time of a client's command from start to end: by the JVM alone, by {@code docker/annals}, and as a native
 * executable where {@code mvn -Pnative package} has made one.
 */
public final class ClientStartPart implements Part {

    private static final String LAUNCHER = Path.of("docker", "annals").toString();
    private static final Path JAR = Path.of("target", "quarkus-app", "quarkus-run.jar");
    private static final Path JAVA_MACHINES = Path.of("/usr/lib/jvm");
    private static final String RECORD = "{\"action\":\"door_open\",\"message\":\"By hand\"}\n";
    private static final Map<String, List<String>> COMMANDS = commands();
    // The second line of the shell's "times" is about its children.
    private static final Pattern TIMES = Pattern.compile("(\\d+)m([\\d.]+)s (\\d+)m([\\d.]+)s\\s*$");

    private record Run(double wall, double processor) {}

    private static Map<String, List<String>> commands() {
        Map<String, List<String>> commands = new LinkedHashMap<>();
        commands.put("search", List.of("search", "action:door_open"));
        commands.put("search --facets", List.of("search", "--facets"));
        commands.put("tail", List.of("tail"));
        commands.put("append", List.of("append"));
        commands.put("export", List.of("export"));
        commands.put("whoami", List.of("whoami"));
        commands.put("search --help", List.of("search", "--help"));
        return commands;
    }

    @Override
    public String name() {
        return "client-start";
    }

    @Override
    public String title() {
        return "Commands: from their start to their end";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        Table table = new Table(
                "command",
                "Java",
                "`java -jar`, s",
                "processor, s",
                "`docker/annals`, s",
                "processor, s",
                "ratio of both",
                "native executable, s",
                "processor, s");
        Optional<Path> executable = StartupPart.executable().stream().findFirst();
        int runs = settings.choose(10, 15);
        Path cache = Files.createTempDirectory("annals-bench-cache");
        try (BenchDatabase database = server.createDatabase("annals_bench_client_start")) {
            database.migrate();
            try (Target service = new Targets(database)
                    .startAnnalsBy(List.of(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-jar",
                            JAR.toString()))) {
                for (Path java : javaMachines()) {
                    for (Map.Entry<String, List<String>> command : COMMANDS.entrySet()) {
                        List<String> plain =
                                List.of(java.resolve("bin").resolve("java").toString(), "-jar", JAR.toString());
                        List<Run> before = new ArrayList<>();
                        List<Run> after = new ArrayList<>();
                        List<Run> natively = new ArrayList<>();
                        // The first makes the archive, and the service's answers are not its first either.
                        run(service, java, cache, plain, command.getValue());
                        run(service, java, cache, List.of(LAUNCHER), command.getValue());
                        for (int i = 0; i < runs; i++) {
                            before.add(run(service, java, cache, plain, command.getValue()));
                            after.add(run(service, java, cache, List.of(LAUNCHER), command.getValue()));
                            if (executable.isPresent()) {
                                natively.add(run(
                                        service,
                                        java,
                                        cache,
                                        List.of(executable.get().toString()),
                                        command.getValue()));
                            }
                        }
                        Run plainly = median(before);
                        Run launched = median(after);
                        Optional<Run> compiled = executable.map(there -> median(natively));
                        Progress.say(java + " " + command.getKey() + " " + plainly + " " + launched + " " + compiled);
                        table.row(
                                "`" + command.getKey() + "`",
                                release(java),
                                seconds(plainly.wall),
                                seconds(plainly.processor),
                                seconds(launched.wall),
                                seconds(launched.processor),
                                String.format(
                                        "%.1f, %.1f",
                                        plainly.wall / launched.wall, plainly.processor / launched.processor),
                                compiled.map(run -> seconds(run.wall)).orElse("not made"),
                                compiled.map(run -> seconds(run.processor)).orElse("–"));
                    }
                }
            }
        } finally {
            delete(cache);
        }
        return """
                Whole processes that ask a service on the same machine, with their output thrown away: the time that passes, and
                the time of the processors (user and system) of the process and its children. Medians of %d runs each, in turns.
                The archive of `docker/annals` was made before.

                """.formatted(runs) + table;
    }

    private static Run run(Target service, Path java, Path cache, List<String> program, List<String> arguments)
            throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(List.of("sh", "-c", "\"$@\" >/dev/null 2>&1 || exit; times", "sh"));
        line.addAll(program);
        line.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(line);
        builder.environment().keySet().removeIf(variable -> variable.startsWith("ANNALS_"));
        builder.environment()
                .putAll(Map.of(
                        "ANNALS_URL",
                        "http://127.0.0.1:" + service.port(),
                        "ANNALS_TOKEN",
                        service.tokens().get(0),
                        "JAVA_HOME",
                        java.toString(),
                        "XDG_CACHE_HOME",
                        cache.toString()));
        long begin = System.nanoTime();
        Process process = builder.start();
        try (var input = process.getOutputStream()) {
            input.write(RECORD.getBytes(StandardCharsets.UTF_8));
        }
        String times = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int code = process.waitFor();
        double wall = (System.nanoTime() - begin) / 1e9;
        Matcher children = TIMES.matcher(times);
        if (code != 0 || !children.find()) {
            throw new IOException(line + " ended with " + code + ": " + times);
        }
        return new Run(wall, seconds(children, 1) + seconds(children, 3));
    }

    private static double seconds(Matcher times, int group) {
        return 60 * Integer.parseInt(times.group(group)) + Double.parseDouble(times.group(group + 1));
    }

    /** The one that runs the benchmarks, and the oldest and newest releases that are found beside it. */
    private static List<Path> javaMachines() throws IOException {
        Map<String, Path> byRelease = new LinkedHashMap<>();
        Path own = Path.of(System.getProperty("java.home"));
        byRelease.put(release(own), own);
        if (Files.isDirectory(JAVA_MACHINES)) {
            try (Stream<Path> found = Files.list(JAVA_MACHINES)) {
                for (Path java : found.sorted()
                        .filter(java -> Files.exists(java.resolve("release"))
                                && Files.exists(java.resolve("bin").resolve("java")))
                        .toList()) {
                    byRelease.putIfAbsent(release(java), java);
                }
            }
        }
        return List.copyOf(byRelease.values());
    }

    private static String release(Path java) throws IOException {
        try (Stream<String> lines = Files.lines(java.resolve("release"))) {
            return lines.filter(line -> line.startsWith("JAVA_VERSION="))
                    .map(line -> line.replaceAll("[^0-9.]", "").replaceAll("\\..*", ""))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static Run median(List<Run> runs) {
        return new Run(
                runs.stream().map(Run::wall).sorted().toList().get(runs.size() / 2),
                runs.stream().map(Run::processor).sorted().toList().get(runs.size() / 2));
    }

    private static String seconds(double seconds) {
        return String.format("%.2f", seconds);
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
