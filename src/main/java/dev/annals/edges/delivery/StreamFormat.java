package dev.annals.edges.delivery;

import dev.annals.access.actions.Catalogue;
import dev.annals.core.record.RecordEncoder;
import dev.annals.edges.export.ExportFormat;
import java.time.Duration;
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
    DATADOG("application/json", SinkType.WEBHOOK),
    /** Elasticsearch's bulk API: see {@link ElasticDocument}. */
    ELASTIC("application/x-ndjson", SinkType.WEBHOOK),
    /** An incoming webhook of Slack, which takes one message per second: see {@link SlackMessage}. */
    SLACK(SlackMessage.MAX_RECORDS, SlackMessage.MAX_BYTES, Duration.ofSeconds(1)),
    /** A workflow of Teams: see {@link TeamsCard}. */
    TEAMS(TeamsCard.MAX_RECORDS, TeamsCard.MAX_BYTES, Duration.ofSeconds(1)),
    /** PagerDuty's Events API, which takes 120 events per minute: see {@link PagerDutyEvent}. */
    PAGERDUTY(1, StreamScheduler.BATCH_BYTES, Duration.ofMillis(500));

    private final String mediaType;
    private final @Nullable SinkType only;
    private final int maxRecords;
    private final int maxBytes;
    private final Duration pause;

    StreamFormat(String mediaType, @Nullable SinkType only) {
        this(mediaType, only, Integer.MAX_VALUE, StreamScheduler.BATCH_BYTES, Duration.ZERO);
    }

    /** For people. */
    StreamFormat(int maxRecords, int maxBytes, Duration pause) {
        this("application/json", SinkType.WEBHOOK, maxRecords, maxBytes, pause);
    }

    StreamFormat(String mediaType, @Nullable SinkType only, int maxRecords, int maxBytes, Duration pause) {
        this.mediaType = mediaType;
        this.only = only;
        this.maxRecords = maxRecords;
        this.maxBytes = maxBytes;
        this.pause = pause;
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

    /** The most records of a batch. */
    int maxRecords() {
        return maxRecords;
    }

    /** The most bytes of a batch's records, unless a single one has more. */
    int maxBytes() {
        return maxBytes;
    }

    /** The shortest time from a delivered batch to the next one; zero for receivers of logs. */
    Duration pause() {
        return pause;
    }

    /** The secrets of webhooks of particular receivers are sent; the others sign. */
    boolean sharesSecretWith(StreamFormat other) {
        return this == other || (only != SinkType.WEBHOOK && other.only != SinkType.WEBHOOK);
    }

    String mediaType() {
        return mediaType;
    }

    /** @param viewer its URL, for links; null without {@code ANNALS_PUBLIC_URL} */
    RecordEncoder.Format of(UUID projectId, Catalogue catalogue, @Nullable String viewer) {
        return switch (this) {
            case JSON -> ExportFormat.NDJSON.of(projectId, catalogue);
            case CLOUDEVENTS -> ExportFormat.CLOUDEVENTS.of(projectId, catalogue);
            case OCSF -> ExportFormat.OCSF.of(projectId, catalogue);
            case CEF -> (record, out) -> CefEvent.write(projectId, record, out);
            case SPLUNK_HEC -> (record, out) -> SplunkEvent.write(projectId, record, out);
            case DATADOG -> (record, out) -> DatadogLog.write(projectId, record, out);
            case ELASTIC -> (record, out) -> ElasticDocument.write(projectId, record, out);
            case SLACK -> (record, out) -> SlackMessage.write(Notice.of(projectId, record, viewer), out);
            case TEAMS -> (record, out) -> TeamsCard.write(Notice.of(projectId, record, viewer), out);
            case PAGERDUTY ->
                (record, out) -> PagerDutyEvent.write(projectId, record, Notice.of(projectId, record, viewer), out);
        };
    }
}
