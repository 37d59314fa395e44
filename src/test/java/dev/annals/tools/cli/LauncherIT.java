package dev.annals.tools.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpServer;
import com.tngtech.archunit.core.domain.JavaClass;
import dev.annals.Load;
import dev.annals.OwnClasses;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.Tools;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code docker/annals}: the same commands, from an archive of classes that only this user can write. */
@Slow
@TakesLong
class LauncherIT {

    private static final Path LAUNCHER = Path.of("docker", "annals").toAbsolutePath();
    private static final Path PROGRAM = Path.of("target", "quarkus-app").toAbsolutePath();
    private static final String RECORD = "{\"id\":\"a\",\"action\":\"%s\"}".formatted("x".repeat(100));
    private static final String PAGE =
            "{\"next\":null,\"poll_more\":\"/v1/project-logs?cursor=1-00000000\",\"results\":["
                    + String.join(",", Collections.nCopies(4_000, RECORD))
                    + "],\"stored\":2,\"last_sequence_id\":2,\"refusals\":[]}";

    @TempDir
    static Path shared;

    @TempDir
    Path scratch;

    private static HttpServer service;
    private static final List<String> QUERIES = Collections.synchronizedList(new ArrayList<>());
    private static final List<String> BODIES = Collections.synchronizedList(new ArrayList<>());

    private record Ended(int code, String output, String error) {}

    @BeforeAll
    static void startService() throws IOException {
        assumeTrue(Files.exists(PROGRAM.resolve("quarkus-run.jar")), "the launcher is for the jar");
        service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        byte[] page = PAGE.getBytes(StandardCharsets.UTF_8);
        service.createContext("/", exchange -> {
            try (exchange) {
                QUERIES.add(String.valueOf(exchange.getRequestURI().getRawQuery()));
                BODIES.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
                exchange.sendResponseHeaders(200, page.length);
                exchange.getResponseBody().write(page);
            }
        });
        service.start();
    }

    @AfterAll
    static void stopService() {
        if (service != null) {
            service.stop(0);
        }
    }

    @Test
    void makesItsArchiveOnceAndStartsFromIt() throws Exception {
        Path archive = sharedArchive();
        Object made = Files.getLastModifiedTime(archive);

        Ended again = run(strictly(shared), "", LAUNCHER, "search", "-n=1");

        assertThat(again.code).as(again.error).isZero();
        assertThat(files(archive.getParent())).containsExactly(archive);
        assertThat(Files.getLastModifiedTime(archive)).isEqualTo(made);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(archive.getParent())))
                .isEqualTo("rwx------");
    }

    @Test
    void ignoresAnArchiveThatIsCutOffOrOverwrittenOrEmpty() throws Exception {
        long size = Files.size(sharedArchive());
        for (long length : List.of(size / 2, 0L, 100L).subList(0, Load.times(1, 3))) {
            Path archive = copyOfCache("cut" + length);
            try (FileChannel file = FileChannel.open(archive, StandardOpenOption.WRITE)) {
                file.truncate(length);
            }
            assertPlain(archive);
        }
        Path archive = copyOfCache("overwritten");
        try (FileChannel file = FileChannel.open(archive, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap(new byte[512]), 0);
        }
        assertPlain(archive);
        archive = copyOfCache("inside");
        try (FileChannel file = FileChannel.open(archive, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap(new byte[100_000]), size / 2);
        }
        assertPlain(archive);
    }

    @Test
    void ignoresAnArchiveOfOtherJars() throws Exception {
        Path elsewhere = Files.createDirectories(scratch.resolve("else where"));
        for (Path jar : clientJars()) {
            Path copy = elsewhere.resolve(PROGRAM.relativize(jar));
            Files.createDirectories(copy.getParent());
            Files.copy(jar, copy);
        }
        Path launcher = elsewhere.resolve("annals");
        Files.copy(LAUNCHER, launcher, StandardCopyOption.COPY_ATTRIBUTES);
        Files.copy(sharedArchive(), elsewhere.resolve("annals-client.jsa"));

        Ended plain = run(environment(scratch), "", launcher, "search", "-n=1");
        Ended strict = run(strictly(scratch), "", launcher, "search", "-n=1");

        assertThat(plain.code).as(plain.error).isZero();
        assertThat(plain.error).doesNotContain("warning");
        assertThat(strict.code).as("with an archive that has to fit").isNotZero();
    }

    @Test
    void refusesWhatOthersMayHaveWritten() throws Exception {
        Path archive = copyOfCache("archive");
        Files.setPosixFilePermissions(archive, PosixFilePermissions.fromString("rw-rw-r--"));
        assertPlain(archive);

        archive = copyOfCache("link");
        Path real = Files.move(archive, scratch.resolve("real.jsa"));
        Files.createSymbolicLink(archive, real);
        assertPlain(archive);

        archive = copyOfCache("linked");
        Path directory = archive.getParent();
        Path moved = Files.move(directory, scratch.resolve("moved"));
        Files.createSymbolicLink(directory, moved);
        assertPlain(archive);

        archive = copyOfCache("shared");
        Files.setPosixFilePermissions(archive.getParent(), PosixFilePermissions.fromString("rwxrwxrwx"));
        assertPlain(archive);

        Path empty = Files.createDirectories(scratch.resolve("empty").resolve("annals/commands"));
        Files.setPosixFilePermissions(empty, PosixFilePermissions.fromString("rwxrwx---"));
        assertPlain(empty.resolve("none"));
        assertThat(files(empty)).isEmpty();
    }

    @Test
    void worksWithoutAnyPlaceForAnArchive() throws Exception {
        Path file = Files.createFile(scratch.resolve("file"));
        assertThat(run(environment(file), "", LAUNCHER, "search", "-n=1").code).isZero();
    }

    @Test
    void saysThatThereIsNoJavaOrThatItIsTooOld() throws Exception {
        Path home = scratch.resolve("a JDK");
        Map<String, String> environment = environment(shared);
        environment.put("JAVA_HOME", home.toString());
        for (String command : List.of("search", "--version")) {
            assertThat(run(environment, "", LAUNCHER, command).error)
                    .contains("there is no java in JAVA_HOME, " + home + "/bin: install Java 17 or newer");
        }

        Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwx------"));
        for (String command : List.of("search", "--version")) {
            Ended ended = run(environment, "", LAUNCHER, command);
            assertThat(ended.error).contains(java + " is Java 11: install Java 17 or newer");
            assertThat(ended.code).isEqualTo(1);
        }

        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"An older one\"\nJAVA_VERSION=\"1.8.0_402\"\n");
        assertThat(run(environment, "", LAUNCHER, "search").error).contains(java + " is Java 8: ");
    }

    @Test
    void passesArgumentsUnchanged() throws Exception {
        String[] words = {"two words", "", "it's", "\"quoted\"", "*", "$HOME", "back\\slash", "a\nb", "é"};
        List<String> line = new ArrayList<>(List.of("search", "-n=1", "--"));
        line.addAll(List.of(words));
        QUERIES.clear();

        Path link = Files.createSymbolicLink(scratch.resolve("a link"), LAUNCHER);
        assertThat(run(environment(shared), "", link, line.toArray(String[]::new)).code)
                .isZero();

        assertThat(QUERIES.stream().map(query -> URLDecoder.decode(query, StandardCharsets.UTF_8)))
                .anySatisfy(query -> assertThat(query).contains("q=" + String.join(" ", words)));
    }

    @Test
    void passesExitCodesAndStreams() throws Exception {
        Map<String, String> noToken = environment(shared);
        noToken.put("ANNALS_TOKEN", "");
        assertThat(run(noToken, "", LAUNCHER, "whoami").code).isEqualTo(ClientFailure.TOKEN);
        assertThat(run(environment(shared), "", LAUNCHER, "search", "--nothing").code)
                .isEqualTo(ClientFailure.USAGE);
        assertThat(run(environment(shared), "", LAUNCHER, "migrate", "--help").output)
                .contains("annals migrate");

        BODIES.clear();
        Ended append = run(environment(shared), "{\"action\":\"piped\"}\n", LAUNCHER, "append");
        assertThat(append.code).as(append.error).isZero();
        assertThat(BODIES).anySatisfy(body -> assertThat(body).contains("piped"));
    }

    @Test
    void endsWithoutAMessageWhenItsOutputIsClosed() throws Exception {
        Tools.need(Files.exists(Path.of("/bin/bash")), "bash");
        Ended ended = run(
                environment(shared),
                "",
                Path.of("/bin/bash"),
                "-c",
                "\"$0\" search --json | head -c 1; echo \" ${PIPESTATUS[0]}\"",
                LAUNCHER.toString());
        assertThat(ended.output).isEqualTo("{ " + ClientFailure.CLOSED_PIPE + "\n");
        assertThat(ended.error).isEmpty();
    }

    /** A class that is missing would only be missed by the command that needs it. */
    @Test
    void hasTheLibrariesOfEveryClientCommand() {
        Map<String, JavaClass> classes = new HashMap<>();
        OwnClasses.all().forEach(type -> classes.put(type.getName(), type));
        Deque<String> open = new ArrayDeque<>();
        classes.keySet().stream()
                .filter(name -> name.startsWith("dev.annals.tools.cli."))
                .forEach(open::add);
        Set<String> seen = new LinkedHashSet<>(open);
        Set<String> missing = new TreeSet<>();
        while (!open.isEmpty()) {
            JavaClass type = classes.get(open.remove());
            type.getDirectDependenciesFromSelf().stream()
                    .map(dependency -> dependency.getTargetClass())
                    .filter(target -> !target.isAnnotation())
                    .map(JavaClass::getBaseComponentType)
                    .map(JavaClass::getName)
                    .forEach(name -> {
                        if (classes.containsKey(name)) {
                            if (seen.add(name)) {
                                open.add(name);
                            }
                        } else if (name.contains(".")
                                && !name.matches("(javax?|picocli|com\\.fasterxml\\.jackson\\.(core|databind))\\..*")) {
                            missing.add(type.getName() + " → " + name);
                        }
                    });
        }
        assertThat(missing).isEmpty();
    }

    /** It works, says nothing of the archive, and does not use it. */
    private void assertPlain(Path archive) throws Exception {
        Path cache = archive.getParent().getParent().getParent();
        Ended plain = run(environment(cache), "", LAUNCHER, "search", "-n=1");
        assertThat(plain.code).as(plain.error).isZero();
        assertThat(plain.output).startsWith(RECORD + "\n");
        assertThat(plain.error.lines()).allMatch(line -> line.startsWith("annals: "));
        assertThat(usesArchive(cache)).isFalse();
    }

    private static boolean usesArchive(Path cache) throws Exception {
        Map<String, String> environment = environment(cache);
        environment.put("JDK_JAVA_OPTIONS", "-XX:+PrintCommandLineFlags");
        Ended ended = run(environment, "", LAUNCHER, "search", "-n=1");
        boolean named = ended.output.contains("-XX:SharedArchiveFile=" + cache);
        return named && run(strictly(cache), "", LAUNCHER, "search", "-n=1").code == 0;
    }

    private Path copyOfCache(String name) throws Exception {
        Path archive = sharedArchive();
        Path directory = Files.createDirectories(scratch.resolve(name).resolve("annals/commands"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        Path copy = Files.copy(archive, directory.resolve(archive.getFileName()));
        assertThat(usesArchive(scratch.resolve(name))).isTrue();
        return copy;
    }

    private static synchronized Path sharedArchive() throws Exception {
        Path cache = shared.resolve("annals/commands");
        if (!Files.exists(cache)) {
            Ended first = run(environment(shared), "", LAUNCHER, "search", "-n=1");
            assertThat(first.code).as(first.error).isZero();
        }
        List<Path> made = files(cache);
        assertThat(made).hasSize(1);
        assertThat(Files.size(made.get(0))).isPositive();
        return made.get(0);
    }

    private static List<Path> clientJars() throws IOException {
        try (Stream<Path> files = Files.walk(PROGRAM)) {
            return files.filter(file -> file.getFileName()
                            .toString()
                            .matches("quarkus-run\\.jar|annals-.*\\.jar|info\\.picocli.*\\.jar"
                                    + "|com\\.fasterxml\\.jackson\\.core\\..*\\.jar"))
                    .toList();
        }
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        }
    }

    private static Map<String, String> environment(Path cache) {
        Map<String, String> environment = new HashMap<>();
        environment.put("ANNALS_URL", "http://127.0.0.1:" + service.getAddress().getPort());
        environment.put("ANNALS_TOKEN", "none");
        environment.put("XDG_CACHE_HOME", cache.toString());
        environment.put("JAVA_HOME", System.getProperty("java.home"));
        environment.put("LC_ALL", "C.UTF-8");
        return environment;
    }

    /** The environment in which a mismatched archive prevents the start. */
    private static Map<String, String> strictly(Path cache) {
        Map<String, String> environment = environment(cache);
        environment.put("JDK_JAVA_OPTIONS", "-Xshare:on");
        return environment;
    }

    private static Ended run(Map<String, String> environment, String input, Path program, String... arguments)
            throws Exception {
        List<String> line = new ArrayList<>(List.of(program.toString()));
        line.addAll(List.of(arguments));
        Path output = Files.createTempFile(shared.getParent(), "launcher", ".out");
        Path error = Files.createTempFile(shared.getParent(), "launcher", ".err");
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(line).redirectOutput(output.toFile()).redirectError(error.toFile());
            builder.environment().keySet().removeIf(name -> name.startsWith("ANNALS_") || name.startsWith("J"));
            builder.environment().putAll(environment);
            Process process = builder.start();
            try (var stdin = process.getOutputStream()) {
                stdin.write(input.getBytes(StandardCharsets.UTF_8));
            }
            return new Ended(process.waitFor(), Files.readString(output), Files.readString(error));
        } finally {
            Files.delete(output);
            Files.delete(error);
        }
    }
}
