package dev.annals.edges.delivery;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** The kinds of sinks. A new one is also added to {@link Sink}, and to the constraint {@code stream_sink_type}. */
enum SinkType {
    /** An HTTPS endpoint: see {@link WebhookSink}. */
    WEBHOOK,
    /** Two tables in another database: see {@link PostgresSink}. */
    POSTGRESQL,
    /** A topic: see {@link KafkaSink}. */
    KAFKA,
    /** A receiver of logs by OTLP over HTTP: see {@link OtlpSink}. */
    OTLP,
    /** A syslog receiver: see {@link SyslogSink}. */
    SYSLOG,
    /** Objects in an S3-compatible store: see {@link S3Sink}. */
    S3;

    /** The name in JSON and in the database. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<SinkType> of(String text) {
        return Arrays.stream(values()).filter(type -> type.text().equals(text)).findFirst();
    }

    /** All names, for people. */
    static String names() {
        return Arrays.stream(values()).map(SinkType::text).collect(Collectors.joining(" or "));
    }
}
