package dev.annals.core.sequence;

import static dev.annals.core.sequence.SequenceProcess.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * A JVM of its own that draws from every sequence of a project that has the name of its kind, in turns, and prints each
 * block as it gets it; with an end to its rounds it then keeps what it owns until its input is closed.
 */
final class DrawingProcess implements AutoCloseable {

    /** The most values that it draws at once. */
    static final int MAX_COUNT = 7;

    private final Process process;
    private final Map<SequenceKind, List<Long>> issued = new ConcurrentHashMap<>();
    private final AtomicInteger blocks = new AtomicInteger();
    private final CountDownLatch done = new CountDownLatch(1);
    private final Thread reader;
    private volatile String name = "";

    /** Starts it; 0 rounds are rounds without end. */
    DrawingProcess(UUID projectId, int rounds, List<SequenceKind> kinds) throws IOException {
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx128m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        DrawingProcess.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Writer input = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
        input.write(TestDatabase.url().withPassword() + "\n" + projectId + "\n" + rounds + "\n"
                + kinds.stream().map(SequenceKind::name).collect(Collectors.joining(" ")) + "\n");
        input.flush();
        reader = new Thread(this::readOutput);
        reader.start();
    }

    private void readOutput() {
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                String[] words = line.split(" ", -1);
                switch (words[0]) {
                    case "name" -> name = words[1];
                    case "done" -> done.countDown();
                    case "block" -> {
                        List<Long> values =
                                issued.computeIfAbsent(SequenceKind.valueOf(words[1]), kind -> new ArrayList<>());
                        for (int i = 2; i < words.length; i++) {
                            values.add(Long.valueOf(words[i]));
                        }
                        blocks.incrementAndGet();
                    }
                    default -> throw new IllegalStateException(line);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            done.countDown();
        }
    }

    /** Its application name. */
    String name() {
        return name;
    }

    /** Waits until it has printed so many blocks. */
    void awaitBlocks(int count) throws Exception {
        Await.until(count + " blocks are drawn", () -> blocks.get() >= count || !process.isAlive());
        assertThat(blocks).as("blocks that the process drew").hasValueGreaterThanOrEqualTo(count);
    }

    /** Waits until it has done its rounds. */
    void awaitDone() throws InterruptedException {
        if (!done.await(2, TimeUnit.MINUTES)) {
            throw new AssertionError("the process does not come to an end");
        }
    }

    /** Ends it with SIGKILL and reads what it still had printed. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
        reader.join();
    }

    /** The values that it printed, in their order; complete once it was killed, or is done. */
    List<Long> issued(SequenceKind kind) {
        return issued.getOrDefault(kind, List.of());
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** The process itself. Ends with its parent, whose end closes its input. */
    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        TestDatabase.use(input.readLine());
        UUID projectId = UUID.fromString(input.readLine());
        int rounds = Integer.parseInt(input.readLine());
        String[] names = input.readLine().split(" ", -1);
        Thread orphan = new Thread(() -> haltAtEnd(input));
        orphan.start();
        SequenceProcess process = new SequenceProcess();
        print("name " + process.name());
        List<Sequence> sequences = new ArrayList<>();
        for (String name : names) {
            sequences.add(process.sequences.find(projectId, name).await().atMost(LONG));
        }
        for (int i = 0; rounds == 0 || i < rounds; i++) {
            for (Sequence sequence : sequences) {
                SequenceBlock block = process.draw(sequence, 1 + i % MAX_COUNT);
                print("block " + sequence.name() + " "
                        + block.stream().mapToObj(Long::toString).collect(Collectors.joining(" ")));
            }
        }
        print("done");
    }

    private static void haltAtEnd(BufferedReader input) {
        try {
            while (input.readLine() != null) {
                // Nothing more is said.
            }
        } catch (IOException e) {
            // As good as an end.
        }
        Runtime.getRuntime().halt(0);
    }

    @SuppressWarnings("SystemOut") // what the parent reads
    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
