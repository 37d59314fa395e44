package dev.annals.access.requests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.stream.IntStream;
import org.jboss.logmanager.ExtHandler;
import org.jboss.logmanager.ExtLogRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Nothing waits for its line of the log. */
@BesideTheService
@Timeout(60)
class LogQueueTest {

    private static final int CAPACITY = 10;
    private static final PrintStream OUT = new PrintStream(OutputStream.nullOutputStream());

    /** Writes nothing until it is opened, as to a pipe that is not read. */
    private static final class Output extends ExtHandler {

        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch opened = new CountDownLatch(1);
        private final List<String> written = new CopyOnWriteArrayList<>();

        @Override
        protected void doPublish(ExtLogRecord entry) {
            reached.countDown();
            try {
                opened.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            written.add(entry.getMessage());
        }
    }

    private static LogQueue queue(int capacity, PrintStream out, Handler output) {
        LogQueue queue = new LogQueue(capacity, out);
        queue.addHandler(output);
        return queue;
    }

    @Test
    void everyLineIsWrittenOnceAndInOrder() {
        Output output = new Output();
        output.opened.countDown();
        try (LogQueue queue = queue(10_000, OUT, output)) {
            IntStream.range(0, 5_000).forEach(i -> queue.publish(line(i)));
        }

        assertThat(output.written)
                .isEqualTo(IntStream.range(0, 5_000).mapToObj(i -> "line " + i).toList());
    }

    @Test
    void linesThatAreNotReadAreLeftOutAndCountedAndNoThreadWaits() throws Exception {
        Output output = new Output();
        LogQueue queue = queue(CAPACITY, OUT, output);
        queue.publish(line(-1));
        output.reached.await();

        IntStream.range(0, 1_000).forEach(i -> queue.publish(line(i)));

        assertThat(queue.dropped()).isEqualTo(1_000 - CAPACITY);
        output.opened.countDown();
        queue.close();
        assertThat(output.written).startsWith("line -1", "line 0").hasSize(1 + CAPACITY);
    }

    @Test
    void aBrokenOutputIsCountedAndEndsNothing() throws Exception {
        PrintStream broken = new PrintStream(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        });
        Handler output = new ExtHandler() {
            @Override
            protected void doPublish(ExtLogRecord entry) {
                broken.println(entry.getMessage());
            }
        };
        try (LogQueue queue = queue(CAPACITY, broken, output)) {
            for (int i = 1; i <= 3; i++) {
                int count = i;
                queue.publish(line(i));
                Await.until("the line is counted", () -> queue.dropped() == count);
            }
        }
    }

    private static LogRecord line(int number) {
        return new ExtLogRecord(Level.INFO, "line " + number, "annals");
    }
}
