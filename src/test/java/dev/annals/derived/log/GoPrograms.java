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
 * Programs in Go that tests run: they are built once, into {@code target}, and again where their sources are newer. Tests that
 * need them are skipped where there is no Go.
 */
public final class GoPrograms {

    /** It fetches the one that the module wants. */
    private static final int OLDEST_GO = 21;

    private static final int LIMIT_SECONDS = 540;

    /** What {@link #fsck} says at the end if all is well. It exits with 0 whatever it finds, and may not end. */
    public static final String FSCK_SUCCEEDS = "Successfully fsck'd log with size";

    private GoPrograms() {}

    /** Whether there is a Go that is new enough. */
    public static boolean canBeBuilt() throws Exception {
        return goVersion() >= OLDEST_GO;
    }

    /** The one of transparency-dev/tessera. */
    public static synchronized Path fsck() throws Exception {
        return installed("github.com/transparency-dev/tessera/cmd/fsck", "v1.0.4");
    }

    /** An S3-compatible store: versitygw, whose objects are files. */
    public static synchronized Path versitygw() throws Exception {
        return installed("github.com/versity/versitygw/cmd/versitygw", "v1.8.0");
    }

    /** Builds the module in a folder of {@code src/test}, which has the name of the program. */
    public static synchronized Path built(String name) throws Exception {
        return built(Path.of("src", "test", name));
    }

    /** Builds the module in this folder, which has the name of the program. */
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
        // Another Java machine may build it at the same time.
        String part = name + ".part" + ProcessHandle.current().pid();
        assertThat(run(folder, "go", "build", "-o", part, ".")).isEmpty();
        return Files.move(folder.resolve(part), program, StandardCopyOption.ATOMIC_MOVE);
    }

    /**
     * Builds a program that others wrote.
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

    /** Gives what a program says where it fails, and nothing where it does not. */
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
