package dev.annals.tools.ops;

import dev.annals.kernel.database.DatabaseFailure;
import io.quarkus.logging.LoggingFilter;
import io.vertx.pgclient.PgException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.text.MessageFormat;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.logging.Filter;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.jboss.logmanager.ExtLogRecord;
import org.jspecify.annotations.Nullable;

/**
 * Keeps an outage of the database from flooding the log. Each failed request, broken connection and background task logs a failure,
 * and the client of the database logs some twice. This filter passes one warning or error per cause and interval, without a stack
 * trace; the next one counts the dropped lines. Other failures pass unchanged. Safe for any thread.
 */
@LoggingFilter(name = "outages")
public final class OutageLog implements Filter {

    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_CAUSES = 200;
    /** The depth of causes to look at. */
    private static final int DEPTH = 10;

    private final LongSupplier clock;
    private final Map<String, LoggedCause> logged = new HashMap<>();

    private static final class LoggedCause {
        long at;
        long more;
    }

    /** For Quarkus. */
    public OutageLog() {
        this(System::nanoTime);
    }

    OutageLog(LongSupplier clock) {
        this.clock = clock;
    }

    @Override
    public boolean isLoggable(LogRecord entry) {
        if (entry.getLevel().intValue() < Level.WARNING.intValue()) {
            return true;
        }
        Throwable cause = outage(entry);
        if (cause == null) {
            return true;
        }
        long more = moreSince(key(entry, cause));
        if (more < 0) {
            return false;
        }
        shorten(entry, cause, more);
        return true;
    }

    /** The lines dropped since the last one; -1 if this one is to be dropped. */
    private synchronized long moreSince(String key) {
        long now = clock.getAsLong();
        LoggedCause before = logged.get(key);
        if (before == null) {
            if (logged.size() >= MAX_CAUSES) {
                logged.values().removeIf(old -> now - old.at >= INTERVAL_NANOS);
            }
            if (logged.size() < MAX_CAUSES) {
                LoggedCause first = new LoggedCause();
                first.at = now;
                logged.put(key, first);
                return 0;
            }
            return -1;
        }
        if (now - before.at < INTERVAL_NANOS) {
            before.more++;
            return -1;
        }
        long more = before.more;
        before.at = now;
        before.more = 0;
        return more;
    }

    private static @Nullable Throwable outage(LogRecord entry) {
        Throwable thrown = outage(entry, entry.getThrown());
        if (thrown == null && entry.getParameters() != null) {
            for (Object parameter : entry.getParameters()) {
                thrown = thrown == null && parameter instanceof Throwable failure ? outage(entry, failure) : thrown;
            }
        }
        return thrown;
    }

    private static @Nullable Throwable outage(LogRecord entry, @Nullable Throwable failure) {
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < DEPTH; depth++) {
            // Vert.x: an answer and the end of its connection have both completed one promise.
            boolean twice =
                    cause instanceof IllegalStateException && "Result is already complete".equals(cause.getMessage());
            if (twice || (!isOfAnythingElse(entry, cause) && DatabaseFailure.isTransient(cause))) {
                return cause;
            }
            cause = cause.getCause();
        }
        return null;
    }

    /** A bare IOException that the service logs may come from anywhere. */
    private static boolean isOfAnythingElse(LogRecord entry, Throwable cause) {
        boolean own = entry.getLoggerName() != null && entry.getLoggerName().startsWith("dev.annals.");
        return cause instanceof FileSystemException || (own && cause.getClass() == IOException.class);
    }

    /** A format is the same for all lines; a text of a library may contain details. */
    private static String key(LogRecord entry, Throwable cause) {
        boolean format = entry.getParameters() != null && entry.getParameters().length > 0;
        String state = cause instanceof PgException error ? error.getSqlState() : "";
        return String.join(
                "\n",
                String.valueOf(entry.getLoggerName()),
                format ? String.valueOf(entry.getMessage()) : "",
                cause.getClass().getName(),
                state);
    }

    private static String text(ExtLogRecord record) {
        Object[] parameters = record.getParameters();
        if (parameters == null || parameters.length == 0) {
            return record.getMessage();
        }
        return switch (record.getFormatStyle()) {
            case PRINTF -> String.format(record.getMessage(), parameters);
            case MESSAGE_FORMAT -> MessageFormat.format(record.getMessage(), parameters);
            case NO_FORMAT -> record.getMessage();
        };
    }

    private static void shorten(LogRecord entry, Throwable cause, long more) {
        if (!(entry instanceof ExtLogRecord record)) {
            return;
        }
        String text = text(record);
        if (record.getThrown() != null) {
            text += ": " + cause;
            record.setThrown(null);
        }
        if (more > 0) {
            text += " (and " + more + " times more since the last line)";
        }
        record.setMessage(text, ExtLogRecord.FormatStyle.NO_FORMAT);
    }
}
