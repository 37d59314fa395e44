package dev.annals.requests;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Writes lines in a thread of its own. Whoever offers one never waits: if the output is behind by as many lines as the queue
 * holds, the line is left out and counted.
 */
final class LineWriter<T> implements AutoCloseable {

    private static final int MOST_AT_ONCE = 256;
    private static final long CLOSE_MILLIS = 1_000;
    private static final long PAUSE_MILLIS = 100;

    private final BlockingQueue<T> queue;
    private final Function<T, String> format;
    private final OutputStream out;
    private final AtomicLong dropped = new AtomicLong();
    private final Thread thread;
    private volatile boolean closed;

    /** @param capacity how many lines may wait */
    LineWriter(int capacity, Function<T, String> format, OutputStream out) {
        this.queue = new ArrayBlockingQueue<>(capacity);
        this.format = format;
        this.out = out;
        this.thread = new Thread(this::run, "annals-request-log");
        thread.setDaemon(true);
        thread.start();
    }

    /** Has a line written soon, or leaves it out. */
    void offer(T line) {
        if (!queue.offer(line)) {
            dropped.incrementAndGet();
        }
    }

    /** How many lines were left out so far. */
    long dropped() {
        return dropped.get();
    }

    private void run() {
        List<T> lines = new ArrayList<>(MOST_AT_ONCE);
        try {
            while (!closed || !queue.isEmpty()) {
                T first = queue.poll(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                if (first != null) {
                    lines.add(first);
                    queue.drainTo(lines, MOST_AT_ONCE - 1);
                    write(lines);
                    lines.clear();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void write(List<T> lines) {
        StringBuilder text = new StringBuilder(lines.size() * 400);
        for (T line : lines) {
            text.append(format.apply(line)).append('\n');
        }
        try {
            out.write(text.toString().getBytes(StandardCharsets.US_ASCII));
            out.flush();
        } catch (IOException e) {
            // Nobody reads standard output: there is nowhere to say so but in the count.
            dropped.addAndGet(lines.size());
        }
    }

    /** Writes what waits, for at most a second. */
    @Override
    public void close() {
        closed = true;
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
