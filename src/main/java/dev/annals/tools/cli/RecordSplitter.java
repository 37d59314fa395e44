package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Copies the complete records of an export that may break off anywhere. A resumed export begins after the last copied record.
 */
final class RecordSplitter {

    /**
     * More than a record takes in any format: 65,535 bytes of message and 131,072 of metadata, with every byte escaped, are less
     * than 2 MB.
     */
    private static final int MAX_RECORD_BYTES = 1 << 24;

    private static final String CSV_HEADER = "sequence_id,id,";
    private static final Pattern CSV_RECORD = Pattern.compile("([0-9]{1,18}),\"([0-9a-f-]{36})\",");

    private final Format format;
    private final boolean csv;
    private final OutputStream out;
    private ByteArrayOutputStream current = new ByteArrayOutputStream();
    private ByteArrayOutputStream last = new ByteArrayOutputStream();
    private boolean inQuotes;
    private boolean headerIsNext;
    private boolean headerIsOut;
    private boolean headerIsKnown;
    private long records;
    private long bytes;

    /** The sequence id and the id of a record. After a rewind the sequence id may belong to another record. */
    record Place(long sequenceId, String id) {}

    RecordSplitter(Format format, OutputStream out) {
        this.format = format;
        this.csv = format == Format.csv;
        this.out = out;
        this.headerIsNext = csv;
    }

    /** Discards an incomplete record before a new answer. */
    void beginAgain() {
        current.reset();
        inQuotes = false;
        headerIsNext = csv;
    }

    void feed(byte[] part, int length) throws IOException {
        int from = 0;
        for (int i = 0; i < length; i++) {
            if (csv && part[i] == '"') {
                inQuotes = !inQuotes;
            } else if (part[i] == '\n' && !inQuotes) {
                current.write(part, from, i + 1 - from);
                from = i + 1;
                pass();
            }
        }
        current.write(part, from, length - from);
        if (current.size() > MAX_RECORD_BYTES) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The server at this URL sends a record of more than " + MAX_RECORD_BYTES
                            + " bytes, which no Annals service does. Check ANNALS_URL.");
        }
    }

    private void pass() throws IOException {
        if (headerIsNext) {
            headerIsNext = false;
            if (!headerIsOut) {
                headerIsOut = true;
                headerIsKnown = current.toString(StandardCharsets.UTF_8).startsWith(CSV_HEADER);
                write();
            }
        } else {
            records++;
            write();
            ByteArrayOutputStream free = last;
            last = current;
            current = free;
        }
        current.reset();
    }

    private void write() throws IOException {
        current.writeTo(out);
        bytes += current.size();
    }

    /** The number of copied records. */
    long records() {
        return records;
    }

    /** The number of copied bytes, including the header of CSV. */
    long bytes() {
        return bytes;
    }

    /** True if the copied part can be continued: it is not empty, and begins and ends like an export. */
    boolean isExport() {
        return bytes > 0 && (!csv || headerIsKnown) && (records == 0 || place(format, text()) != null);
    }

    /** The place of the last record; null without records. */
    @Nullable
    Place last() {
        if (records == 0) {
            return null;
        }
        Place place = place(format, text());
        if (place == null) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "The server at this URL exports records without a sequence id and an id. Check ANNALS_URL.");
        }
        return place;
    }

    private String text() {
        return last.toString(StandardCharsets.UTF_8);
    }

    /** Finds the place in a record's text; null if the text is no record of this format. */
    static @Nullable Place place(Format format, String text) {
        if (format == Format.csv) {
            Matcher matcher = CSV_RECORD.matcher(text);
            return matcher.lookingAt() ? new Place(Long.parseLong(matcher.group(1)), matcher.group(2)) : null;
        }
        try {
            JsonNode record = Json.mapper().readTree(text);
            JsonNode id = record.at(format.id());
            long sequenceId = Long.parseLong(record.at(format.sequenceId()).asText());
            return id.isTextual() ? new Place(sequenceId, id.textValue()) : null;
        } catch (NumberFormatException | JsonProcessingException e) {
            return null;
        }
    }

    /** The format of an export, with the JSON pointers of a record's two ids. */
    enum Format {
        ndjson("/sequence_id", "/id"),
        csv("", ""),
        cloudevents("/sequence", "/id"),
        ocsf("/unmapped/sequence_id", "/metadata/uid");

        private final String sequenceId;
        private final String id;

        Format(String sequenceId, String id) {
            this.sequenceId = sequenceId;
            this.id = id;
        }

        String sequenceId() {
            return sequenceId;
        }

        String id() {
            return id;
        }
    }
}
