package dev.annals.delivery;

import dev.annals.export.ExportFormat;
import dev.annals.record.RecordEncoder;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;

/** How records are delivered: as exports have them. */
enum StreamFormat {
    /** As in the feed. */
    JSON(ExportFormat.NDJSON, "application/json"),
    /** CloudEvents 1.0, in batched JSON mode. */
    CLOUDEVENTS(ExportFormat.CLOUDEVENTS, "application/cloudevents-batch+json"),
    /** OCSF, class API Activity. */
    OCSF(ExportFormat.OCSF, "application/json");

    private final ExportFormat format;
    private final String mediaType;

    StreamFormat(ExportFormat format, String mediaType) {
        this.format = format;
        this.mediaType = mediaType;
    }

    /** The name in JSON and in the database. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<StreamFormat> of(String text) {
        return Arrays.stream(values())
                .filter(format -> format.text().equals(text))
                .findFirst();
    }

    /** The media type of a batch. */
    String mediaType() {
        return mediaType;
    }

    /** How each record is written; a line break follows it. */
    RecordEncoder.Format of(UUID projectId) {
        return format.of(projectId);
    }
}
