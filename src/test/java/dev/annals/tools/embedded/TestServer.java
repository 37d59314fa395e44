package dev.annals.tools.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** A server of one test with an empty database. It starts again by itself when it is killed. */
public final class TestServer implements AutoCloseable {

    private final Path directory;
    private final EmbeddedDatabase database;

    private TestServer(Path directory, EmbeddedDatabase database) {
        this.directory = directory;
        this.database = database;
    }

    public static TestServer start() throws IOException {
        Files.createDirectories(TestDatabase.BINARIES);
        Path directory = TestDatabase.newDirectory();
        return new TestServer(directory, EmbeddedDatabase.start(directory, TestDatabase.BINARIES, Set.of()));
    }

    public DatabaseUrl url() {
        return database.url();
    }

    /** Sends a signal to all its processes. */
    public void signal(String name) throws IOException, InterruptedException {
        signal(directory, name);
    }

    /** Sends a signal to all processes of the server in a data directory. */
    static void signal(Path dataDirectory, String name) throws IOException, InterruptedException {
        ProcessHandle server = ProcessHandle.of(Long.parseLong(Files.readAllLines(
                                dataDirectory.resolve(DataDirectory.CLUSTER).resolve("postmaster.pid"))
                        .get(0)
                        .strip()))
                .orElseThrow();
        List<String> line = new ArrayList<>(List.of("kill", "-" + name));
        Stream.concat(Stream.of(server), server.descendants())
                .forEach(process -> line.add(Long.toString(process.pid())));
        // Some may have ended meanwhile.
        assertThat(new ProcessBuilder(line).start().waitFor()).isIn(0, 1);
    }

    @Override
    public void close() {
        database.close();
        TestDatabase.deleteTree(directory);
    }
}
