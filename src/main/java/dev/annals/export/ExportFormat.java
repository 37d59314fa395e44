package dev.annals.export;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.http.JsonBody;
import dev.annals.record.RecordWriter;
import dev.annals.record.StoredRecord;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The format of an export. In each, every record carries its sequence id, at which a reader can resume. */
enum ExportFormat {
    /** One line per record, as in the feed. */
    NDJSON(ExportFormat.LINES, "ndjson"),
    /** RFC 4180; see {@link CsvRecord}. */
    CSV("text/csv; charset=utf-8; header=present", "csv"),
    /** One CloudEvents 1.0 event per line; see {@link CloudEvent}. */
    CLOUDEVENTS(ExportFormat.LINES, "cloudevents.ndjson"),
    /** One OCSF event of the class API Activity per line; see {@link OcsfEvent}. */
    OCSF(ExportFormat.LINES, "ocsf.ndjson");

    static final String LINES = "application/x-ndjson";
    static final String CSV_TYPE = "text/csv";

    private final String mediaType;
    private final String extension;

    ExportFormat(String mediaType, String extension) {
        this.mediaType = mediaType;
        this.extension = extension;
    }

    /** The format that a parameter names; empty if there is none. */
    static Optional<ExportFormat> named(String name) {
        return Stream.of(values())
                .filter(format -> format.parameter().equals(name))
                .findFirst();
    }

    /** All names, for people. */
    static String names() {
        return Stream.of(values()).map(ExportFormat::parameter).collect(Collectors.joining(", "));
    }

    private String parameter() {
        return name().toLowerCase(Locale.ROOT);
    }

    String mediaType() {
        return mediaType;
    }

    /** What a file's name ends with, without a dot. */
    String extension() {
        return extension;
    }

    /** What comes before the first record, even if there is none. */
    byte[] head() {
        return this == CSV ? CsvRecord.HEADER.getBytes(StandardCharsets.UTF_8) : new byte[0];
    }

    /**
     * Writes records one after the other.
     *
     * @throws IOException what {@code out} throws
     */
    void write(UUID projectId, List<StoredRecord> records, OutputStream out) throws IOException {
        if (this == CSV) {
            StringBuilder text = new StringBuilder(records.size() * 256);
            records.forEach(record -> CsvRecord.write(record, text));
            out.write(text.toString().getBytes(StandardCharsets.UTF_8));
            return;
        }
        try (JsonGenerator json = JsonBody.generator(out)) {
            json.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
            json.setRootValueSeparator(null);
            for (StoredRecord record : records) {
                writeEvent(projectId, record, json);
                json.writeRaw('\n');
            }
        }
    }

    private void writeEvent(UUID projectId, StoredRecord record, JsonGenerator json) throws IOException {
        switch (this) {
            case NDJSON -> RecordWriter.write(record, json);
            case CLOUDEVENTS -> CloudEvent.write(projectId, record, json);
            case OCSF -> OcsfEvent.write(projectId, record, json);
            case CSV -> throw new IllegalStateException("CSV is no JSON");
        }
    }
}
