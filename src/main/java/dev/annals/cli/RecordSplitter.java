package dev.annals.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Passes on what is whole of an export that may break off anywhere, and knows where to resume: behind the last record that
 * was passed on.
 */
final class RecordSplitter {

    private final boolean csv;
    private final OutputStream out;
    private ByteArrayOutputStream current = new ByteArrayOutputStream();
    private ByteArrayOutputStream last = new ByteArrayOutputStream();
    private boolean inQuotes;
    private boolean headerIsNext;
    private boolean headerIsOut;
    private long records;
    private long bytes;

    RecordSplitter(boolean csv, OutputStream out) {
        this.csv = csv;
        this.out = out;
        this.headerIsNext = csv;
    }

    /** What was begun of a record is forgotten: the next bytes are a new answer's. */
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
    }

    private void pass() throws IOException {
        if (headerIsNext) {
            headerIsNext = false;
            if (!headerIsOut) {
                headerIsOut = true;
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

    /** How many records were passed on. */
    long records() {
        return records;
    }

    /** How many bytes, with the header of CSV. */
    long bytes() {
        return bytes;
    }

    /** The sequence id of the last record; 0 where there was none. */
    long lastSequenceId() throws IOException {
        if (last.size() == 0) {
            return 0;
        }
        String text = last.toString(StandardCharsets.UTF_8);
        try {
            if (csv) {
                return Long.parseLong(text.substring(0, Math.max(0, text.indexOf(','))));
            }
            JsonNode record = Connection.JSON.readTree(text);
            for (String place : new String[] {"/sequence_id", "/sequence", "/unmapped/sequence_id"}) {
                if (!record.at(place).isMissingNode()) {
                    return Long.parseLong(record.at(place).asText());
                }
            }
        } catch (NumberFormatException | com.fasterxml.jackson.core.JsonProcessingException e) {
            // answered below
        }
        throw new ClientFailure(
                ClientFailure.FAILED, "The last record has no sequence id: this is no export of the given format.");
    }
}
