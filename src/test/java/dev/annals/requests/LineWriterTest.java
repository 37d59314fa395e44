package dev.annals.requests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A request never waits for its line. */
@BesideTheService
@Timeout(60)
class LineWriterTest {

    private static final int CAPACITY = 10;

    /** Takes nothing until it is opened, as a pipe that nobody reads. */
    private static final class Stalled extends OutputStream {

        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch opened = new CountDownLatch(1);
        private final ByteArrayOutputStream taken = new ByteArrayOutputStream();

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            reached.countDown();
            try {
                opened.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            taken.write(bytes, offset, length);
        }
    }

    @Test
    void everyLineIsWrittenOnceAndInOrder() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (LineWriter<Integer> writer = new LineWriter<>(10_000, Object::toString, out)) {
            IntStream.range(0, 5_000).forEach(writer::offer);
        }

        assertThat(out.toString(StandardCharsets.UTF_8).lines().map(Integer::valueOf))
                .isEqualTo(IntStream.range(0, 5_000).boxed().toList());
    }

    @Test
    void whereNobodyReadsLinesAreLeftOutAndCountedAndNobodyWaits() throws Exception {
        Stalled out = new Stalled();
        LineWriter<String> writer = new LineWriter<>(CAPACITY, line -> line, out);
        writer.offer("first");
        out.reached.await();

        for (int i = 0; i < 1_000; i++) {
            writer.offer("line " + i);
        }

        assertThat(writer.dropped()).isEqualTo(1_000 - CAPACITY);
        out.opened.countDown();
        writer.close();
        assertThat(out.taken.toString(StandardCharsets.UTF_8))
                .startsWith("first\nline 0\n")
                .hasLineCount(1 + CAPACITY);
    }

    @Test
    void aBrokenOutputIsCountedAndEndsNothing() throws Exception {
        OutputStream broken = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        try (LineWriter<String> writer = new LineWriter<>(CAPACITY, line -> line, broken)) {
            for (int i = 1; i <= 3; i++) {
                int count = i;
                writer.offer("line");
                Await.until("the line is counted", () -> writer.dropped() == count);
            }
        }
    }
}
