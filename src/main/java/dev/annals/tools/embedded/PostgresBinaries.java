package dev.annals.tools.embedded;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;
import org.tukaani.xz.XZInputStream;

/**
 * PostgreSQL's programs for this platform, unpacked from the archive on the class path.
 *
 * @param directory holds {@code bin}, {@code lib} and {@code share}
 * @param majorVersion such as 18
 */
record PostgresBinaries(Path directory, int majorVersion) {

    private static final String PREFIX = "postgresql-binaries-";
    private static final Duration VERSION_LIMIT = Duration.ofSeconds(30);
    private static final Pattern VERSION = Pattern.compile("postgres \\(PostgreSQL\\) (\\d+).*");
    /** Java's name of a user without a name. */
    private static final String NAMELESS = "?";

    /**
     * The exit code of a program and its output.
     *
     * @param output standard output and error together
     */
    record Outcome(int exitCode, String output) {

        /** The last error of the output, or else its first line. */
        String complaint() {
            List<String> complaints = output.lines()
                    .filter(line -> line.contains("FATAL:") || line.contains("PANIC:") || line.contains("error:"))
                    .map(line -> line.replaceFirst("^.*?(FATAL|PANIC|error): +", ""))
                    .toList();
            return complaints.isEmpty() ? firstLine(output) : complaints.get(complaints.size() - 1);
        }
    }

    /**
     * Unpacks the programs below {@code parent}, unless they exist and run.
     *
     * @throws EmbeddedDatabaseException if there are none for this platform, or they cannot be unpacked or run
     */
    static PostgresBinaries unpack(Path parent) {
        String platform = platform();
        try {
            // The name suffices: reading the archive takes as long as a start of PostgreSQL.
            Path directory = parent.resolve(PREFIX + version() + "-" + platform);
            if (Files.isDirectory(directory)) {
                Matcher version = VERSION.matcher(versionOf(directory).output().strip());
                if (version.matches()) {
                    return new PostgresBinaries(directory, Integer.parseInt(version.group(1)));
                }
                // A power failure can leave files without content.
                deleteTree(directory);
            }
            unpack(platform, directory);
            Outcome outcome = versionOf(directory);
            Matcher version = VERSION.matcher(outcome.output().strip());
            if (outcome.exitCode() != 0 || !version.matches()) {
                throw new EmbeddedDatabaseException("The embedded PostgreSQL in " + directory + " does not run here ("
                        + firstLine(outcome.output()) + "). Set ANNALS_DATA_DIR to a directory on a file system that"
                        + " is not mounted noexec"
                        + (isRoot() ? ", run the service as a user other than root" : "")
                        + ", or set ANNALS_DATABASE_URL to use another PostgreSQL.");
            }
            return new PostgresBinaries(directory, Integer.parseInt(version.group(1)));
        } catch (IOException | UncheckedIOException e) {
            throw new EmbeddedDatabaseException(
                    "The embedded PostgreSQL cannot be unpacked below " + parent + " (" + reason(e)
                            + "). Check that the directory is writable and has 200 MB free.",
                    e);
        }
    }

    /** Deletes the programs of earlier versions beside these. */
    void removeOthers() throws IOException {
        Path parent = directory.getParent();
        if (parent == null) {
            return;
        }
        List<Path> others;
        try (Stream<Path> siblings = Files.list(parent)) {
            others = siblings.filter(sibling ->
                            sibling.getFileName().toString().startsWith(PREFIX) && !sibling.equals(directory))
                    .toList();
        }
        for (Path other : others) {
            deleteTree(other);
        }
    }

    /**
     * Runs a program to its end.
     *
     * @param workingDirectory the base of relative paths
     * @param limit the program is killed after it
     * @throws EmbeddedDatabaseException if it cannot be started, or does not end in time
     */
    Outcome run(Path workingDirectory, Duration limit, String program, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(directory.resolve("bin").resolve(program).toString());
        command.addAll(List.of(arguments));
        return run(workingDirectory, limit, command);
    }

    /**
     * Runs initdb, which needs the name of the user. A user id without a name, as in some containers, becomes {@code nobody} in a user
     * namespace of its own.
     *
     * @throws EmbeddedDatabaseException if it cannot be started, or does not end in time, or there is no name
     */
    Outcome initialize(Duration limit, List<String> arguments) {
        List<String> command = new ArrayList<>(isNameless() ? List.of("unshare", "--user") : List.of());
        command.add(directory.resolve("bin/initdb").toString());
        command.addAll(arguments);
        Outcome outcome = run(directory, limit, command);
        if (outcome.exitCode() != 0
                && (outcome.output().contains("effective user ID")
                        || outcome.output().contains("unshare"))) {
            throw nameless(firstLine(outcome.output()));
        }
        return outcome;
    }

    /** True if a shell reads the path in double quotes as it is. */
    static boolean isPlain(Path path) {
        return path.toString().chars().noneMatch(c -> "\"$`\\".indexOf(c) >= 0);
    }

    private static Outcome versionOf(Path directory) {
        return run(
                directory,
                VERSION_LIMIT,
                List.of(directory.resolve("bin/postgres").toString(), "--version"));
    }

    private static Outcome run(Path workingDirectory, Duration limit, List<String> program) {
        List<String> command = new ArrayList<>();
        if (isRoot()) {
            // PostgreSQL refuses to run as root. In a user namespace of its own it can use root's files, without root's
            // name
            // and powers.
            command.addAll(List.of("unshare", "--user"));
        }
        command.addAll(program);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.directory(workingDirectory.toFile());
        builder.redirectErrorStream(true);
        // PGDATA, PGPORT, PGOPTIONS and others are meant for another PostgreSQL.
        builder.environment().keySet().removeIf(name -> name.startsWith("PG"));
        builder.environment().put("LC_ALL", "C");
        builder.environment().put("TZ", "UTC");
        try {
            Process process = builder.start();
            process.getOutputStream().close();
            return await(process, program, limit);
        } catch (IOException e) {
            if (isNameless() && program.get(0).equals("unshare")) {
                throw nameless(e.getMessage());
            }
            throw new EmbeddedDatabaseException(
                    "The embedded PostgreSQL cannot be started (" + e.getMessage()
                            + "). Run the service as a user other"
                            + " than root, or set ANNALS_DATABASE_URL to use another PostgreSQL.",
                    e);
        }
    }

    private static boolean isRoot() {
        return userId().map(id -> id == 0)
                .orElse(System.getProperty("user.name").equals("root"));
    }

    private static boolean isNameless() {
        return System.getProperty("user.name").equals(NAMELESS) && !isRoot();
    }

    private static EmbeddedDatabaseException nameless(@Nullable String complaint) {
        String id = userId().map(Object::toString).orElse(NAMELESS);
        return new EmbeddedDatabaseException(
                "A new database cannot be created: PostgreSQL needs the name of the user with the"
                        + " id " + id + ", which has none (" + complaint + "). Add the line annals:x:" + id
                        + ":0::/:/sbin/nologin to"
                        + " /etc/passwd, run the service as a user with a name, or set ANNALS_DATABASE_URL to use another PostgreSQL.");
    }

    /** The user id of this process; empty if the system has no /proc. */
    static Optional<Integer> userId() {
        try {
            return Optional.of((Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static Outcome await(Process process, List<String> program, Duration limit) throws IOException {
        Thread killer = new Thread(() -> killAfter(process, limit), "annals-embedded-database-limit");
        killer.setDaemon(true);
        killer.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        boolean interrupted = false;
        while (true) {
            try {
                int exitCode = process.waitFor();
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
                if (exitCode == 137) {
                    throw new EmbeddedDatabaseException(program.get(0) + " did not end within " + limit.toSeconds()
                            + " seconds, or was killed. Look at the machine's load and memory, and start again.");
                }
                return new Outcome(exitCode, output);
            } catch (InterruptedException e) {
                // The time is limited, and a program must not be stopped halfway.
                interrupted = true;
            }
        }
    }

    private static void killAfter(Process process, Duration limit) {
        try {
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
        }
    }

    /** The platform in the names of archives. */
    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        boolean arm = machine.equals("aarch64") || machine.equals("arm64");
        boolean intel = machine.equals("amd64") || machine.equals("x86_64");
        if ((arm || intel) && system.startsWith("linux")) {
            return "linux-" + (arm ? "arm_64" : "x86_64");
        }
        if ((arm || intel) && system.startsWith("mac")) {
            return "darwin-" + (arm ? "arm_64" : "x86_64");
        }
        throw new EmbeddedDatabaseException("Annals has no embedded PostgreSQL for " + system + " on " + machine
                + ". Set ANNALS_DATABASE_URL to a PostgreSQL 15 to 18 of your own.");
    }

    /** The version in the names of archives, such as 18.6.0. */
    private static String version() throws IOException {
        Properties built = new Properties();
        try (InputStream file = PostgresBinaries.class.getResourceAsStream("/version.properties")) {
            built.load(Objects.requireNonNull(file, "every build writes version.properties"));
        }
        return built.getProperty("postgresql");
    }

    private static InputStream open(String archive) {
        InputStream packed = PostgresBinaries.class.getResourceAsStream("/" + archive);
        if (packed == null) {
            throw new EmbeddedDatabaseException("This build of the service does not contain " + archive
                    + ". Set ANNALS_DATABASE_URL to a PostgreSQL 15 to 18 of your own.");
        }
        return packed;
    }

    private static void unpack(String platform, Path directory) throws IOException {
        try (InputStream packed = open("postgres-" + platform + ".txz")) {
            unpack(packed, directory);
        }
    }

    // Into a temporary directory first, so that a directory with the final name is complete.
    private static void unpack(InputStream packed, Path directory) throws IOException {
        Path parent = directory.toAbsolutePath().getParent();
        Path partial = Files.createTempDirectory(parent, PREFIX + "partial-");
        try {
            try (TarArchiveInputStream tar =
                    new TarArchiveInputStream(new BufferedInputStream(new XZInputStream(packed)))) {
                for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                    unpack(tar, entry, partial);
                }
            }
            Files.move(partial, directory, StandardCopyOption.ATOMIC_MOVE);
        } catch (FileSystemException e) {
            deleteTree(partial);
            if (!Files.isDirectory(directory)) {
                throw e;
            }
            // Another process has unpacked the same files meanwhile.
        } catch (IOException e) {
            deleteTree(partial);
            throw e;
        }
    }

    private static void unpack(InputStream content, TarArchiveEntry entry, Path root) throws IOException {
        Path target = root.resolve(entry.getName()).normalize();
        if (!target.startsWith(root)) {
            throw new IOException("the archive's entry " + entry.getName() + " points out of it");
        }
        if (entry.isDirectory()) {
            Files.createDirectories(target);
            return;
        }
        Path parent = target.getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        if (entry.isSymbolicLink()) {
            Files.createSymbolicLink(target, Path.of(entry.getLinkName()));
        } else if (entry.isLink()) {
            Files.createLink(target, root.resolve(entry.getLinkName()).normalize());
        } else {
            Files.copy(content, target);
            boolean executable = (entry.getMode() & 0100) != 0;
            Files.setPosixFilePermissions(
                    target, PosixFilePermissions.fromString(executable ? "rwxr-xr-x" : "rw-r--r--"));
        }
    }

    static void deleteTree(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        List<Path> children;
        try (Stream<Path> tree = Files.walk(root)) {
            children = tree.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path child : children) {
            Files.deleteIfExists(child);
        }
    }

    static String firstLine(String text) {
        return text.strip().lines().findFirst().orElse("no output");
    }

    /** The type and the message: messages of file system exceptions are often just the file. */
    static String reason(Exception e) {
        return e.getClass().getSimpleName() + (e.getMessage() == null ? "" : ": " + e.getMessage());
    }
}
