package dev.annals.kernel.guid;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Another JVM that draws keys, ten after the other and then none for a while, and prints them with their times. */
final class KeyDrawingProcess {

    private static final int AT_ONCE = 10;

    /**
     * A key, and when it was drawn.
     *
     * @param nanos by a clock that all processes of a machine share, and that never goes back
     */
    record Drawn(long nanos, UUID key) {}

    private final Process process;
    private final Thread reader;

    /**
     * Starts it.
     *
     * @param counting to count up from its start in place of {@link SequentialGuid}
     * @param idleMillis how long it draws none
     * @param keys gets every key of this process in order, in a thread of this object's own, and some time after it was drawn
     */
    KeyDrawingProcess(boolean counting, int idleMillis, Consumer<Drawn> keys) throws IOException {
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        KeyDrawingProcess.class.getName(),
                        Boolean.toString(counting),
                        Integer.toString(idleMillis))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        reader = new Thread(() -> read(keys));
        reader.start();
    }

    private void read(Consumer<Drawn> keys) {
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                String[] words = line.split(" ", -1);
                for (int i = 0; i < words.length; i += 2) {
                    keys.accept(new Drawn(Long.parseLong(words[i]), UUID.fromString(words[i + 1])));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends it, and reads what it still had printed. */
    void end() throws IOException, InterruptedException {
        process.getOutputStream().close();
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        reader.join();
    }

    /** The process itself. Ends when its input is closed, and so with its parent. */
    @SuppressWarnings("SystemOut") // what the parent reads
    public static void main(String[] args) throws IOException, InterruptedException {
        Supplier<UUID> keys = Boolean.parseBoolean(args[0]) ? counting() : new SequentialGuid()::next;
        int idleMillis = Integer.parseInt(args[1]);
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // The parent writes nothing.
                }
            } catch (IOException e) {
                // An error counts as the end.
            }
            Runtime.getRuntime().halt(0);
        });
        end.start();
        StringBuilder line = new StringBuilder();
        while (true) {
            line.setLength(0);
            for (int i = 0; i < AT_ONCE; i++) {
                UUID key = keys.get();
                line.append(i == 0 ? "" : " ")
                        .append(System.nanoTime())
                        .append(' ')
                        .append(key);
            }
            System.out.println(line);
            System.out.flush();
            TimeUnit.MILLISECONDS.sleep(idleMillis);
        }
    }

    private static Supplier<UUID> counting() {
        long[] next = {System.currentTimeMillis() << 16};
        return () -> new UUID(next[0]++, 42);
    }
}
