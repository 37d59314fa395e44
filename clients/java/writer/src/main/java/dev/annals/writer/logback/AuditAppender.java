package dev.annals.writer.logback;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import dev.annals.writer.SpoolOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.slf4j.Marker;
import org.slf4j.event.KeyValuePair;

/**
 * A Logback appender that turns log lines with the marker {@code AUDIT} into audit records:
 *
 * <pre>{@code
 * logger.atInfo().addMarker(MarkerFactory.getMarker("AUDIT"))
 *     .addKeyValue("action", "volume_create").addKeyValue("actor.id", user).log("Volume {} was created", name);
 * }</pre>
 *
 * <p>The keys {@code action} (by default {@code log}), {@code actor.type}, {@code actor.id}, {@code actor.name}, those of {@code subject},
 * {@code outcome} and {@code ip_address} are fields of the record; all others are its metadata. The line is the message. A log statement
 * must not throw, so a record that is not taken is reported as a Logback status and a log line.
 */
public final class AuditAppender extends UnsynchronizedAppenderBase<ILoggingEvent> {

    /** The service takes no longer message, in bytes of the whole record. */
    private static final int LONGEST_MESSAGE = 8_192;

    private static final System.Logger LOG = System.getLogger("dev.annals.writer");

    private String url;
    private String token;
    private String tokenFile;
    private String spool;
    private String marker = "AUDIT";
    private long appendTimeoutMillis = 1_000;
    private long closeTimeoutMillis = 10_000;
    private AuditLog log;

    public void setUrl(String url) {
        this.url = url;
    }

    /** A file or an environment variable is safer. */
    public void setToken(String token) {
        this.token = token;
    }

    /** The file is read again before each request. */
    public void setTokenFile(String file) {
        this.tokenFile = file;
    }

    /** Without it, records wait in memory alone. */
    public void setSpool(String folder) {
        this.spool = folder;
    }

    /** {@code AUDIT} by default. */
    public void setMarker(String name) {
        this.marker = name;
    }

    /** The time that a log line waits while the buffer is full; 1,000 by default. */
    public void setAppendTimeoutMillis(long milliseconds) {
        this.appendTimeoutMillis = milliseconds;
    }

    /** The time that the end of the application waits for records that are not sent; 10,000 by default. */
    public void setCloseTimeoutMillis(long milliseconds) {
        this.closeTimeoutMillis = milliseconds;
    }

    @Override
    public void start() {
        if (url == null || (token == null) == (tokenFile == null)) {
            addError("The appender needs a url, and either a token or a tokenFile");
            return;
        }
        Supplier<String> source = token != null ? () -> token : this::readToken;
        try {
            AuditLog.Builder options =
                    AuditLog.to(URI.create(url), source).appendTimeout(Duration.ofMillis(appendTimeoutMillis));
            if (spool != null) {
                options.spool(SpoolOptions.in(Path.of(spool)));
            }
            log = options.open();
            super.start();
        } catch (IllegalArgumentException | UncheckedIOException e) {
            addError("The audit log cannot be opened", e);
        }
    }

    private String readToken() {
        try {
            return Files.readString(Path.of(tokenFile)).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void stop() {
        if (isStarted()) {
            super.stop();
            log.close(Duration.ofMillis(closeTimeoutMillis));
        }
    }

    @Override
    protected void append(ILoggingEvent event) {
        if (!isMarked(event)) {
            return;
        }
        try {
            log.append(record(event));
        } catch (RuntimeException e) {
            addError("A record was not taken", e);
            LOG.log(System.Logger.Level.ERROR, "A record of " + event.getInstant() + " was not taken: " + e);
        }
    }

    private boolean isMarked(ILoggingEvent event) {
        List<Marker> markers = event.getMarkerList();
        return markers != null && markers.stream().anyMatch(one -> one.contains(marker));
    }

    private static AuditRecord record(ILoggingEvent event) {
        Map<String, Object> metadata = new LinkedHashMap<>();
        metadata.put("logger", event.getLoggerName());
        List<KeyValuePair> pairs = event.getKeyValuePairs();
        if (pairs != null) {
            pairs.forEach(pair -> metadata.put(pair.key, pair.value));
        }
        Instant time = event.getInstant();
        String action = take(metadata, "action");
        AuditRecord.Builder record = AuditRecord.of(action == null ? "log" : action)
                .actor(take(metadata, "actor.type"), take(metadata, "actor.id"), take(metadata, "actor.name"))
                .subject(take(metadata, "subject.type"), take(metadata, "subject.id"), take(metadata, "subject.name"))
                .outcome(take(metadata, "outcome"))
                .ipAddress(take(metadata, "ip_address"))
                .message(shortened(event.getFormattedMessage()))
                .timestamp(time == null ? Instant.ofEpochMilli(event.getTimeStamp()) : time);
        return record.metadata(metadata).build();
    }

    private static String take(Map<String, Object> from, String key) {
        Object value = from.remove(key);
        try {
            return value == null ? null : value.toString();
        } catch (RuntimeException e) {
            return "(unreadable: " + e.getClass().getName() + ")";
        }
    }

    private static String shortened(String message) {
        return message == null || message.length() <= LONGEST_MESSAGE
                ? message
                : message.substring(0, LONGEST_MESSAGE) + "…";
    }
}
