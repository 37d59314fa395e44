package dev.annals.edges.export;

import dev.annals.access.actions.Catalogue;
import dev.annals.core.record.RecordEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The format of exports and streams. Each contains the sequence id of every record, after which a reader can resume. */
public enum ExportFormat {
    /** The JSON of the feed, one record per line. */
    NDJSON(ExportFormat.LINES, "ndjson"),
    /** RFC 4180: {@link CsvRecord}. */
    CSV("text/csv; charset=utf-8; header=present", "csv"),
    /** One CloudEvents 1.0 event per line: {@link CloudEvent}. */
    CLOUDEVENTS(ExportFormat.LINES, "cloudevents.ndjson"),
    /** One OCSF event per line: {@link OcsfEvent}. */
    OCSF(ExportFormat.LINES, "ocsf.ndjson");

    static final String LINES = "application/x-ndjson";
    static final String CSV_TYPE = "text/csv";

    private final String mediaType;
    private final String extension;

    ExportFormat(String mediaType, String extension) {
        this.mediaType = mediaType;
        this.extension = extension;
    }

    static Optional<ExportFormat> named(String name) {
        return Stream.of(values())
                .filter(format -> format.parameter().equals(name))
                .findFirst();
    }

    static String names() {
        return Stream.of(values()).map(ExportFormat::parameter).collect(Collectors.joining(", "));
    }

    private String parameter() {
        return name().toLowerCase(Locale.ROOT);
    }

    String mediaType() {
        return mediaType;
    }

    /** Without a dot. */
    String extension() {
        return extension;
    }

    /** The bytes before the first record; also of an export without records. */
    byte[] head() {
        return this == CSV ? CsvRecord.HEADER.getBytes(StandardCharsets.UTF_8) : new byte[0];
    }

    /** Writes one record, with its line break. */
    public RecordEncoder.Format of(UUID projectId, Catalogue catalogue) {
        return (record, out) -> {
            switch (this) {
                case NDJSON -> RecordEncoder.write(record, out);
                case CLOUDEVENTS -> CloudEvent.write(projectId, record, out);
                case OCSF ->
                    OcsfEvent.write(
                            projectId, catalogue.actions().get(record.record().action()), record, out);
                case CSV -> CsvRecord.write(record, out);
            }
            if (this != CSV) {
                out.writeRaw('\n');
            }
        };
    }
}
