package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.proof.Hash;
import dev.annals.proof.PageProof;
import dev.annals.proof.ProvedFile;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.RedactedValues;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * Writes records with their proof, as an export or an archive. The file is NDJSON: a line with the checkpoint; then blocks of a line
 * with a proof and the records that it proves, as pages with {@code proof} show them. {@link ProvedFile} reads it.
 */
final class ProvedExport {

    private static final int PAGE_RECORDS = 256;

    private final FollowedLog log;
    private final OutputStream out;
    private final LongConsumer reached;

    ProvedExport(FollowedLog log, OutputStream out) {
        this(log, out, through -> {});
    }

    /** @param reached gets the last sequence id of each page that is written */
    ProvedExport(FollowedLog log, OutputStream out, LongConsumer reached) {
        this.reached = reached;
        this.log = log;
        this.out = out;
    }

    /**
     * Writes the records after a cursor up to the newest checkpoint.
     *
     * @return the size of the log
     */
    long write(String from) throws IOException, InterruptedException {
        FollowedLog.Seen pinned = log.advance();
        log.requireThatItGoesOn();
        long size = pinned.checkpoint().size();
        line(json -> {
            json.writeStringField("annals", ProvedFile.EXPORT);
            json.writeStringField("checkpoint", pinned.note());
        });
        if (FollowedLog.place(from) > size) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--cursor is after the last record of the log, which has the sequence id " + size + ".");
        }
        if (pages(from, size).unnamed() > 0) {
            throw new ClientFailure(
                    ClientFailure.UNNAMED,
                    "Values were redacted during the export. The records of the redactions are after the checkpoint of "
                            + size + " records, so the file would not contain them. Export again.");
        }
        return size;
    }

    /**
     * Writes a range of records as an archive, with a first line that names the range.
     *
     * @return the redacted values
     */
    RedactedValues archive(String project, long first, long last) throws IOException, InterruptedException {
        FollowedLog.Seen pinned = log.advance();
        log.requireThatItGoesOn();
        line(json -> {
            json.writeStringField("annals", ProvedFile.ARCHIVE);
            json.writeStringField("project", project);
            json.writeNumberField("first_sequence_id", first);
            json.writeNumberField("last_sequence_id", last);
            json.writeStringField("checkpoint", pinned.note());
        });
        return pages(Long.toString(first - 1), last);
    }

    private RedactedValues pages(String from, long last) throws IOException, InterruptedException {
        String cursor = from;
        RedactedValues redacted = new RedactedValues(FollowedLog.place(from) + 1);
        while (FollowedLog.place(cursor) < last) {
            FollowedLog.ProvedPage page =
                    log.page(cursor, (int) Math.min(PAGE_RECORDS, last - FollowedLog.place(cursor)));
            List<ProvedRecord> records = page.page().records().stream()
                    .map(record -> ProvedRecord.parse(new String(record, StandardCharsets.UTF_8)))
                    .toList();
            writeProof(page.proof(), records);
            for (ProvedRecord record : records) {
                redacted.add(record, finding -> {
                    throw new ClientFailure(ClientFailure.FORKED, "In the log, " + finding + ".");
                });
            }
            for (byte[] record : page.page().records()) {
                out.write(record);
                out.write('\n');
            }
            cursor = page.page().behind();
            reached.accept(FollowedLog.place(cursor));
        }
        out.flush();
        return redacted;
    }

    private void writeProof(PageProof proof, List<ProvedRecord> records) throws IOException {
        line(json -> {
            json.writeObjectFieldStart("proof");
            json.writeNumberField("start", proof.start());
            json.writeNumberField("end", proof.end());
            hashes("left", proof.left(), json);
            hashes("right", proof.right(), json);
            // With these, a check of the file can name the record that differs.
            hashes(
                    "leaves",
                    records.stream().map(record -> record.entry().leaf()).toList(),
                    json);
            json.writeEndObject();
        });
    }

    private static void hashes(String name, List<Hash> hashes, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(name);
        for (Hash hash : hashes) {
            json.writeString(hash.toString());
        }
        json.writeEndArray();
    }

    private interface Members {
        void write(JsonGenerator json) throws IOException;
    }

    private void line(Members members) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try (JsonGenerator json = Json.mapper().createGenerator(line)) {
            json.writeStartObject();
            members.write(json);
            json.writeEndObject();
        }
        line.write('\n');
        line.writeTo(out);
    }
}
