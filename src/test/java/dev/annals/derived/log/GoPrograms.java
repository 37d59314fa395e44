package dev.annals.derived.log;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Programs in Go that tests run. Each is built into {@code target}, and again if its sources are newer. Without Go, tests that
 * need one are skipped.
 */
public final class GoPrograms {

    /** It downloads the version that the module needs. */
    private static final int OLDEST_GO = 21;

    private static final int LIMIT_SECONDS = 540;

    /** The last words of a successful {@link #fsck}. It exits with 0 also after a failure, and may not end. */
    public static final String FSCK_SUCCEEDS = "Successfully fsck'd log with size";

    private GoPrograms() {}

    /** Whether a Go that is new enough is installed. */
    public static boolean canBeBuilt() throws Exception {
        return goVersion() >= OLDEST_GO;
    }

    /** The verifier of transparency-dev/tessera. */
    public static synchronized Path fsck() throws Exception {
        return installed("github.com/transparency-dev/tessera/cmd/fsck", "v1.0.4");
    }

    /** An S3-compatible store: versitygw, whose objects are files. */
    public static synchronized Path versitygw() throws Exception {
        return installed("github.com/versity/versitygw/cmd/versitygw", "v1.8.0");
    }

    /** Builds the module in the folder of {@code src/test} with the program's name. */
    public static synchronized Path built(String name) throws Exception {
        return built(Path.of("src", "test", name));
    }

    /** Builds the module in a folder with the program's name. */
    public static synchronized Path built(Path sources) throws Exception {
        String name = sources.getFileName().toString();
        Path folder = Files.createDirectories(Path.of("target", name).toAbsolutePath());
        Path program = folder.resolve(name);
        List<Path> files;
        try (Stream<Path> all = Files.list(sources)) {
            files = all.filter(Files::isRegularFile).toList();
        }
        if (isNewer(program, files)) {
            return program;
        }
        needGo();
        for (Path file : files) {
            Files.copy(file, folder.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
        }
        fetch(folder, "go", "mod", "download");
        // Another JVM may build it at the same time.
        String part = name + ".part" + ProcessHandle.current().pid();
        assertThat(run(folder, "go", "build", "-o", part, ".")).isEmpty();
        return Files.move(folder.resolve(part), program, StandardCopyOption.ATOMIC_MOVE);
    }

    /**
     * Builds a third-party program.
     *
     * @param version of its module
     */
    private static Path installed(String path, String version) throws Exception {
        Path folder = Files.createDirectories(Path.of("target", "go", version).toAbsolutePath());
        Path program = folder.resolve(path.substring(path.lastIndexOf('/') + 1));
        if (!Files.exists(program)) {
            needGo();
            fetch(folder, "env", "GOBIN=" + folder, "go", "install", path + "@" + version);
        }
        return program;
    }

    private static boolean isNewer(Path program, List<Path> sources) throws IOException {
        if (!Files.exists(program)) {
            return false;
        }
        FileTime built = Files.getLastModifiedTime(program);
        for (Path source : sources) {
            if (Files.getLastModifiedTime(source).compareTo(built) >= 0) {
                return false;
            }
        }
        return true;
    }

    private static void needGo() throws Exception {
        need(canBeBuilt(), "Go 1." + OLDEST_GO + " or newer");
    }

    private static int goVersion() throws Exception {
        try {
            Process process = new ProcessBuilder("go", "version").start();
            String version = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return Integer.parseInt(version.replaceFirst("(?s)go version go1\\.(\\d+).*", "$1"));
        } catch (IOException e) {
            return 0;
        }
    }

    private static void fetch(Path folder, String... command) throws Exception {
        String failure = run(folder, command);
        need(failure.isEmpty(), "what " + String.join(" ", command) + " fetches: " + failure);
    }

    /** Returns the output of a program that fails; nothing if it succeeds. */
    private static String run(Path folder, String... command) throws Exception {
        Path output = Files.createTempFile("go", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly().waitFor();
            return ended && process.exitValue() == 0
                    ? ""
                    : Arrays.toString(command) + " failed: " + Files.readString(output);
        } finally {
            Files.delete(output);
        }
    }
}
