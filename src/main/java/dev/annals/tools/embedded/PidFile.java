package dev.annals.tools.embedded;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * PostgreSQL's {@code postmaster.pid}: the process that serves a data directory, and its status. A killed server leaves the file, so
 * its process id may belong to any other process.
 *
 * @param cluster PostgreSQL's data directory
 */
record PidFile(Path cluster) {

    /** Counted from 0. */
    private static final int STATUS_LINE = 7;
    /** Larger than every process id: 2^22 is the limit of Linux. */
    private static final int UNUSED_PID = Integer.MAX_VALUE - 1;

    private Path path() {
        return cluster.resolve("postmaster.pid");
    }

    /** Empty if it cannot be read. */
    String text() {
        try {
            return Files.readString(path());
        } catch (IOException e) {
            return "";
        }
    }

    /** True if the server of this text accepts connections. */
    static boolean isReady(String text) {
        return text.lines().skip(STATUS_LINE).findFirst().orElse("").startsWith("ready");
    }

    /** The server that runs on this data directory, if this service or another one started it. */
    Optional<ProcessHandle> server() throws IOException {
        return recorded().filter(this::isServer);
    }

    /**
     * Replaces the process id of a process that is no server of this directory. PostgreSQL does not start while that process lives.
     * The other lines stay: by them PostgreSQL finds processes that a killed server left.
     */
    void forgetForeignProcess() throws IOException {
        if (recorded().isPresent() && server().isEmpty()) {
            String text = Files.readString(path());
            int end = Math.max(text.indexOf('\n'), 0);
            DataDirectory.writePrivately(path(), UNUSED_PID + text.substring(end));
        }
    }

    private Optional<ProcessHandle> recorded() throws IOException {
        if (!Files.exists(path())) {
            return Optional.empty();
        }
        try (var lines = Files.lines(path())) {
            return lines.findFirst()
                    .map(String::strip)
                    .filter(pid -> pid.matches("\\d{1,10}"))
                    .map(Long::valueOf)
                    .flatMap(ProcessHandle::of)
                    .filter(ProcessHandle::isAlive);
        }
    }

    private boolean isServer(ProcessHandle process) {
        List<String> arguments = Arrays.asList(process.info().arguments().orElse(new String[0]));
        return arguments.contains(cluster.toString())
                || arguments.contains("--pgdata=" + cluster)
                || isWorkingDirectoryOf(process);
    }

    private boolean isWorkingDirectoryOf(ProcessHandle process) {
        Path workingDirectory = Path.of("/proc", Long.toString(process.pid()), "cwd");
        try {
            return Files.exists(workingDirectory) && Files.isSameFile(workingDirectory, cluster);
        } catch (IOException e) {
            return false;
        }
    }
}
