package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.tools.embedded.TestDatabase;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The packaged program as its user starts it: the jar or the native executable, whichever was built last. */
public final class ServiceProcess implements AutoCloseable {

    // In a group of its own, and, even where these tests run in the background of a script, with interrupts not
    // ignored.
    private static final List<String> AS_TYPED = List.of("setsid", "env", "--default-signal=INT");

    /** Whether each has a process group of its own, as a shell makes one for what is typed. */
    public static final boolean HAS_GROUP = works(AS_TYPED, "true");

    private static final Path JAR = Path.of("target", "quarkus-app", "quarkus-run.jar");
    private static final Pattern LISTENING = Pattern.compile("Listening on: http://[^:]+:(\\d+)");
    private static final Pattern MANAGEMENT = Pattern.compile("Management interface listening on http://[^:]+:(\\d+)");
    private static final long END_LIMIT_SECONDS = 60;
    // Most of these processes live for seconds. In that time the optimizing compiler takes a third of a start and never
    // pays off.
    // They share two cores, which a garbage collector with its own threads would take. Code that runs less than a
    // thousand times
    // is not worth compiling.
    private static final List<String> FOR_SECONDS = List.of(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:Tier3InvocationThreshold=1000",
            "-XX:Tier3MinInvocationThreshold=500",
            "-XX:Tier3CompileThreshold=10000");
    /** The classes of a service that has started: without them, a start takes twice the time. */
    private static final Path ARCHIVE = Path.of("target", "test-service.jsa").toAbsolutePath();
    /** Those of the commands that ask a service, which docker/annals starts without all the others. */
    private static final Path CLIENT_ARCHIVE =
            Path.of("target", "test-client.jsa").toAbsolutePath();

    /** Prefixes of the jars that these commands need. */
    private static final List<String> CLIENT_JARS = List.of(
            "app/annals-",
            "lib/main/info.picocli.picocli-",
            "lib/main/com.fasterxml.jackson.core.jackson-core-",
            "lib/main/com.fasterxml.jackson.core.jackson-databind-",
            "lib/main/com.fasterxml.jackson.core.jackson-annotations-");

    private static final Set<String> CLIENT = Set.of(
            "tail",
            "append",
            "export",
            "check",
            "redact",
            "erase",
            "project",
            "token",
            "grant",
            "hold",
            "stream",
            "alert",
            "search",
            "whoami",
            "action",
            "database");

    /** The lines printed so far, on standard output and error. It can be read while the process prints. */
    public final List<String> output = new CopyOnWriteArrayList<>();

    private final Process process;
    private final BufferedReader reader;
    private @Nullable Thread drain;
    private int port;
    private int managementPort;

    private ServiceProcess(Process process) {
        this.process = process;
        this.reader = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Starts the program with these settings in its environment, and on a free port unless they name one. */
    public static ServiceProcess start(Map<String, String> settings, String... arguments) throws IOException {
        ProcessBuilder command = command(List.of(), arguments);
        String properties = settings.get("JAVA_TOOL_OPTIONS");
        if (properties != null && !lastBuilt().equals(JAR)) {
            // An executable takes them as arguments.
            Stream.of(properties.split(" (?='?-D)"))
                    .map(property -> property.replace("'", ""))
                    .forEach(command.command()::add);
        }
        return start(command, settings);
    }

    private static boolean works(List<String> prefix, String command) {
        try {
            List<String> line = new ArrayList<>(prefix);
            line.add(command);
            return new ProcessBuilder(line).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static ServiceProcess start(ProcessBuilder command, Map<String, String> settings) throws IOException {
        if (HAS_GROUP) {
            command.command().addAll(0, AS_TYPED);
        }
        command.environment().put("ANNALS_PORT", "0");
        command.environment().put("ANNALS_MANAGEMENT_PORT", "0");
        // All that is printed is kept.
        command.environment().put("ANNALS_LOGGING_REQUESTS", "false");
        if (settings.containsKey("ANNALS_DATABASE_URL") && !settings.containsKey("ANNALS_DATA_DIR")) {
            // Not in the checkout, where the developer may run a service.
            command.environment().put("ANNALS_FIRST_TOKENS_FILE", "target/first-tokens/" + UUID.randomUUID());
        }
        command.environment().putAll(settings);
        return new ServiceProcess(command.redirectErrorStream(true).start());
    }

    private static boolean isClient(String... arguments) {
        return CLIENT.contains(arguments[0]) && Stream.of(arguments).noneMatch(argument -> argument.startsWith("s3+"));
    }

    /**
     * A command line of the program, with nothing of the tests' own settings in its environment.
     *
     * @param javaOptions of the Java machine; none for a program that a test does not load
     */
    static ProcessBuilder command(List<String> javaOptions, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(program(javaOptions, arguments.length > 0 && isClient(arguments)));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("ANNALS_"));
        return builder;
    }

    private static List<String> program(List<String> javaOptions, boolean client) throws IOException {
        Path built = lastBuilt();
        if (!built.equals(JAR)) {
            assumeTrue(
                    javaOptions.isEmpty(),
                    "options of the Java machine need the jar; the last build made an executable");
            return List.of(built.toAbsolutePath().toString());
        }
        List<String> program = new ArrayList<>();
        program.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (javaOptions.isEmpty() && client) {
            program.addAll(forAMoment());
        } else {
            program.addAll(javaOptions.isEmpty() ? forSeconds() : javaOptions);
            program.addAll(List.of("-jar", JAR.toAbsolutePath().toString()));
        }
        return program;
    }

    private static Path lastBuilt() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("target"))) {
            List<Path> built = Stream.concat(
                            Stream.of(JAR).filter(Files::exists),
                            files.filter(file -> file.toString().endsWith("-runner")))
                    .sorted(Comparator.comparing(file -> file.toFile().lastModified()))
                    .toList();
            assertThat(built).as("packaged programs: run mvn package first").isNotEmpty();
            return built.get(built.size() - 1);
        }
    }

    private static synchronized List<String> forSeconds() throws IOException {
        if (isOld(ARCHIVE)) {
            Map<String, String> settings =
                    Map.of("ANNALS_DATABASE_URL", TestDatabase.createDatabase().withPassword());
            try (ServiceProcess service =
                    start(command(forSecondsWith(dumpTo(ARCHIVE))), settings).awaitListening()) {
                service.process.destroy();
                service.process.onExit().join();
            }
        }
        return forSecondsWith("-XX:SharedArchiveFile=" + ARCHIVE, "-Xshare:auto");
    }

    private static synchronized List<String> forAMoment() throws IOException {
        if (isOld(CLIENT_ARCHIVE)) {
            ProcessBuilder make = new ProcessBuilder("docker/annals", "--make-archive", CLIENT_ARCHIVE.toString());
            make.environment().put("JAVA_HOME", System.getProperty("java.home"));
            assertThat(make.inheritIO().start().onExit().join().exitValue())
                    .as("the archive is made")
                    .isZero();
        }
        List<String> program =
                new ArrayList<>(forSecondsWith("-XX:SharedArchiveFile=" + CLIENT_ARCHIVE, "-Xshare:auto"));
        program.addAll(List.of("-cp", clientJars(), "dev.annals.Annals"));
        return program;
    }

    // In the order in which docker/annals has them: an archive fits one class path.
    private static String clientJars() throws IOException {
        Path home = JAR.toAbsolutePath().getParent();
        List<String> jars = new ArrayList<>();
        for (String prefix : CLIENT_JARS) {
            Path folder = home.resolve(prefix).getParent();
            try (Stream<Path> files = Files.list(folder)) {
                jars.add(files.map(Path::toString)
                        .filter(jar -> jar.startsWith(home.resolve(prefix).toString()))
                        .findFirst()
                        .orElseThrow());
            }
        }
        return String.join(File.pathSeparator, jars);
    }

    private static boolean isOld(Path archive) throws IOException {
        return !Files.exists(archive)
                || Files.getLastModifiedTime(archive).compareTo(Files.getLastModifiedTime(JAR)) < 0;
    }

    private static String dumpTo(Path archive) throws IOException {
        Files.deleteIfExists(archive);
        return "-XX:ArchiveClassesAtExit=" + archive;
    }

    private static List<String> forSecondsWith(String... more) {
        return Stream.concat(FOR_SECONDS.stream(), Stream.of(more)).toList();
    }

    /** Waits until it listens. */
    public ServiceProcess awaitListening() throws IOException {
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            output.add(line);
            Matcher listening = LISTENING.matcher(line);
            if (listening.find()) {
                port = Integer.parseInt(listening.group(1));
                Matcher management = MANAGEMENT.matcher(line);
                assertThat(management.find()).as(line).isTrue();
                managementPort = Integer.parseInt(management.group(1));
                // A full pipe would stop the process.
                drain = new Thread(this::readToTheEnd, "output of the service");
                drain.setDaemon(true);
                drain.start();
                return this;
            }
        }
        throw new AssertionError("The service ended:\n" + String.join("\n", output));
    }

    /** Sends it a signal, such as {@code STOP}. */
    public void signal(String name) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Reads what it prints until it ends, and waits for that. Gives its exit code. */
    public int awaitEnd() throws InterruptedException {
        if (drain == null) {
            readToTheEnd();
        }
        assertThat(process.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS))
                .as("it ends within %d seconds", END_LIMIT_SECONDS)
                .isTrue();
        if (drain != null) {
            drain.join();
        }
        return process.exitValue();
    }

    /** Reads what it prints until it ends, however long that takes. */
    public void readToTheEnd() {
        try {
            reader.lines().forEach(output::add);
        } catch (UncheckedIOException e) {
            output.add("The pipe of the killed process is closed: " + e.getMessage());
        }
    }

    /** An address of the service. */
    public URI uri(String path) {
        return URI.create("http://127.0.0.1:" + port + path);
    }

    /** An address on the management port. */
    public URI managementUri(String path) {
        return URI.create("http://127.0.0.1:" + managementPort + path);
    }

    /** Makes a project and a token with these scopes. */
    public AuditLogFixture.Project newProject(String adminToken, String... scopes)
            throws IOException, InterruptedException {
        String id = administer(adminToken, "/v1/projects", Map.of("name", "project " + UUID.randomUUID()), "id");
        return newToken(adminToken, UUID.fromString(id), scopes);
    }

    /** The same project with another token, which has these scopes. */
    public AuditLogFixture.Project newToken(String adminToken, UUID projectId, String... scopes)
            throws IOException, InterruptedException {
        String tokens = "/v1/projects/" + projectId + "/tokens";
        return new AuditLogFixture.Project(
                projectId, administer(adminToken, tokens, Map.of("scopes", scopes), "token"));
    }

    private String administer(String adminToken, String path, Map<String, ?> body, String field)
            throws IOException, InterruptedException {
        ObjectMapper json = new ObjectMapper();
        HttpRequest request = HttpRequest.newBuilder(uri(path))
                .header("Authorization", "Bearer " + adminToken)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(json.writeValueAsBytes(body)))
                .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        return json.readTree(answer.body()).get(field).textValue();
    }

    /** The operating system's view of it. */
    public Process process() {
        return process;
    }

    /** As {@code kill -9}. */
    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
