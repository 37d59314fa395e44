package dev.annals.edges.delivery;

import dev.annals.access.actions.Catalogue;
import dev.annals.core.record.RecordEncoder;
import dev.annals.edges.export.ExportFormat;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The format of delivered records: a format of exports, or one of a particular receiver. */
enum StreamFormat {
    JSON("application/json", null),
    /** CloudEvents 1.0, in batched JSON mode. */
    CLOUDEVENTS("application/cloudevents-batch+json", null),
    /** OCSF, in the classes of the project's catalogue of actions. */
    OCSF("application/json", null),
    /** Common Event Format: see {@link CefEvent}. */
    CEF("text/plain", SinkType.SYSLOG),
    /** Splunk's HTTP Event Collector: see {@link SplunkEvent}. */
    SPLUNK_HEC("application/json", SinkType.WEBHOOK),
    /** Datadog's intake for logs: see {@link DatadogLog}. */
    DATADOG("application/json", SinkType.WEBHOOK);

    private final String mediaType;
    private final @Nullable SinkType only;

    StreamFormat(String mediaType, @Nullable SinkType only) {
        this.mediaType = mediaType;
        this.only = only;
    }

    /** In JSON and in the database. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<StreamFormat> of(String text) {
        return Arrays.stream(values())
                .filter(format -> format.text().equals(text))
                .findFirst();
    }

    static String names() {
        return Arrays.stream(values()).map(StreamFormat::text).collect(Collectors.joining(", "));
    }

    /** OTLP has a format of its own, and accepts only the default. */
    boolean suits(SinkType sink) {
        return sink == SinkType.OTLP ? this == JSON : only == null || only == sink;
    }

    /** Splunk's and Datadog's secrets are sent; the others sign. */
    boolean sharesSecretWith(StreamFormat other) {
        return this == other || (only != SinkType.WEBHOOK && other.only != SinkType.WEBHOOK);
    }

    String mediaType() {
        return mediaType;
    }

    RecordEncoder.Format of(UUID projectId, Catalogue catalogue) {
        return switch (this) {
            case JSON -> ExportFormat.NDJSON.of(projectId, catalogue);
            case CLOUDEVENTS -> ExportFormat.CLOUDEVENTS.of(projectId, catalogue);
            case OCSF -> ExportFormat.OCSF.of(projectId, catalogue);
            case CEF -> (record, out) -> CefEvent.write(projectId, record, out);
            case SPLUNK_HEC -> (record, out) -> SplunkEvent.write(projectId, record, out);
            case DATADOG -> (record, out) -> DatadogLog.write(projectId, record, out);
        };
    }
}
