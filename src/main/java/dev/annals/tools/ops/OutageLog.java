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
 * Keeps an outage of the database from flooding the log. Each request that fails, each connection that breaks, and each piece of
 * background work reports it, and the client of the database reports some of it a second time, as a programming error. Of
 * warnings and errors with the same cause, one line is logged per interval, without a stack trace, and the next one says how many
 * there were. Whatever is not about the database passes as it is. Safe for any thread.
 */
@LoggingFilter(name = "outages")
public final class OutageLog implements Filter {

    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_CAUSES = 200;
    /** Where a failure was caused by another one and so on, as far as anybody looks. */
    private static final int DEPTH = 10;

    private final LongSupplier clock;
    private final Map<String, Said> said = new HashMap<>();

    private static final class Said {
        long at;
        long more;
    }

    /** Made by Quarkus. */
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

    /** How many lines were left out since the last one; -1 if this one is to be left out, too. */
    private synchronized long moreSince(String key) {
        long now = clock.getAsLong();
        Said before = said.get(key);
        if (before == null) {
            if (said.size() >= MAX_CAUSES) {
                said.values().removeIf(old -> now - old.at >= INTERVAL_NANOS);
            }
            if (said.size() < MAX_CAUSES) {
                Said first = new Said();
                first.at = now;
                said.put(key, first);
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
            // What a promise says that was kept by an answer and by the end of its connection.
            boolean twice =
                    cause instanceof IllegalStateException && "Result is already complete".equals(cause.getMessage());
            if (twice || (!isOfAnythingElse(entry, cause) && DatabaseFailure.isTransient(cause))) {
                return cause;
            }
            cause = cause.getCause();
        }
        return null;
    }

    /** What the service itself reports of a bare IOException may come from anywhere. */
    private static boolean isOfAnythingElse(LogRecord entry, Throwable cause) {
        boolean own = entry.getLoggerName() != null && entry.getLoggerName().startsWith("dev.annals.");
        return cause instanceof FileSystemException || (own && cause.getClass() == IOException.class);
    }

    /** Texts of the service's own are formats, the same for all records; those of libraries may name what they are about. */
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
            text += " (and " + more + " times more since this was last said)";
        }
        record.setMessage(text, ExtLogRecord.FormatStyle.NO_FORMAT);
    }
}
