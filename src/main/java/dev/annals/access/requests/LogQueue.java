package dev.annals.access.requests;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.stream.Stream;
import org.jboss.logmanager.ExtFormatter;
import org.jboss.logmanager.ExtHandler;
import org.jboss.logmanager.ExtLogRecord;
import org.jboss.logmanager.LogContext;
import org.jboss.logmanager.Logger;
import org.jboss.logmanager.handlers.ConsoleHandler;

/**
 * Formats and writes the log in its own thread. A thread that logs never waits: if the queue is full, the line is dropped and
 * counted. The framework's asynchronous handler would block or not count.
 */
final class LogQueue extends ExtHandler {

    /** Also in the format of text, where it ends with a space. */
    private static final String TRACE = "trace";

    private static final long CLOSE_MILLIS = 1_000;
    private static final long PAUSE_MILLIS = 100;

    private final BlockingQueue<ExtLogRecord> queue;
    private final PrintStream out;
    private final AtomicLong dropped = new AtomicLong();
    private final Thread thread;
    private volatile boolean text;
    private volatile boolean closed;

    /** Adds a request's values to its line, and keeps lines ASCII. */
    private static final class JsonLines extends ExtFormatter.Delegating {

        JsonLines(ExtFormatter json) {
            super(json);
        }

        @Override
        public String format(ExtLogRecord entry) {
            String line = super.format(entry);
            Object[] parameters = entry.getParameters();
            String trace = entry.getMdc(TRACE);
            int end = line.lastIndexOf('}');
            if (parameters != null && parameters.length == 1 && parameters[0] instanceof RequestLine request) {
                line = line.substring(0, end) + "," + request.asJson().substring(1) + line.substring(end + 1);
            } else if (trace != null) {
                line = line.substring(0, end) + ",\"trace\":\"" + trace + "\"" + line.substring(end);
            }
            return RequestLine.ascii(line);
        }
    }

    /**
     * Starts the thread.
     *
     * @param capacity in lines
     */
    LogQueue(int capacity, PrintStream out) {
        this.queue = new ArrayBlockingQueue<>(capacity);
        this.out = out;
        this.thread = new Thread(this::run, "annals-log");
        thread.setDaemon(true);
        thread.start();
    }

    void open(LogFormat format) {
        text = format == LogFormat.TEXT;
        Logger root = root();
        setHandlers(root.getHandlers());
        if (format == LogFormat.JSON) {
            handlers(this)
                    .filter(ConsoleHandler.class::isInstance)
                    .forEach(console ->
                            console.setFormatter(new JsonLines(ExtFormatter.wrap(console.getFormatter(), false))));
        }
        root.setHandlers(new Handler[] {this});
    }

    private static Logger root() {
        return LogContext.getLogContext().getLogger("");
    }

    private static Stream<Handler> handlers(Handler handler) {
        Stream<Handler> within = handler instanceof ExtHandler parent
                ? Arrays.stream(parent.getHandlers()).flatMap(LogQueue::handlers)
                : Stream.of();
        return Stream.concat(Stream.of(handler), within);
    }

    long dropped() {
        return dropped.get();
    }

    @Override
    protected void doPublish(ExtLogRecord entry) {
        entry.disableCallerCalculation();
        String trace = isRequest(entry) ? null : RequestLog.currentTrace();
        if (trace != null) {
            entry.putMdc(TRACE, text ? "trace=" + trace + " " : trace);
        }
        if (!queue.offer(entry)) {
            dropped.incrementAndGet();
        }
    }

    /** Its line has the trace as one of its values. */
    private static boolean isRequest(ExtLogRecord entry) {
        Object[] parameters = entry.getParameters();
        return parameters != null && parameters.length == 1 && parameters[0] instanceof RequestLine;
    }

    private void run() {
        try {
            while (!closed || !queue.isEmpty()) {
                ExtLogRecord entry = queue.poll(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                if (entry != null) {
                    publishToNestedHandlers(entry);
                    if (out.checkError()) {
                        // Standard output is closed. Only the count can still show it.
                        dropped.incrementAndGet();
                    }
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Writes the waiting lines, for at most a second. Threads write later lines themselves. */
    @Override
    public void close() {
        if (Arrays.asList(root().getHandlers()).contains(this)) {
            root().setHandlers(getHandlers());
        }
        closed = true;
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
