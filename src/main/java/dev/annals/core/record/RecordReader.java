package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads records from the JSON of a client. A record without an id gets a sequential GUID; a record without a timestamp gets
 * the time of the call. {@link RecordParser} has the grammar.
 *
 * <p>Every failure is a {@link ProblemException}: {@code MALFORMED_JSON} at the first byte that is not JSON,
 * {@code TOO_MANY_RECORDS} at the first record too many, and {@code INVALID_RECORD} with up to {@link #MAX_ERRORS} errors, as
 * pointers into the body.
 */
@Singleton
public final class RecordReader {

    public static final int MAX_RECORDS = 1_000;
    /** Counted by {@link JsonText#countedBytes}, from the opening to the closing brace. */
    public static final int MAX_RECORD_BYTES = 65_535;
    /** An escape has up to six bytes for one. */
    public static final int MAX_SENT_BYTES = 6 * MAX_RECORD_BYTES;

    public static final int MAX_ERRORS = 100;

    private static final int MAX_MESSAGE_LENGTH = 200;
    private static final String ARRAY = "an array of 1 to " + MAX_RECORDS + " records";

    /** These limits only protect memory. RecordParser has those that clients are told. */
    private static final JsonFactory JSON = new JsonFactoryBuilder()
            .disable(JsonFactory.Feature.CHARSET_DETECTION)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(1_000)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private final SequentialGuid guids;
    private final InstantSource clock;

    @Inject
    public RecordReader(SequentialGuid guids) {
        this(guids, InstantSource.system());
    }

    RecordReader(SequentialGuid guids, InstantSource clock) {
        this.guids = guids;
        this.clock = clock;
    }

    public AuditRecord readRecord(byte[] body) {
        return parse(body, 0, body.length, true, RecordReader::one);
    }

    /**
     * Reads an object whose only field {@code records} has 1 to {@link #MAX_RECORDS} records, no id twice. Pointers into a
     * record begin at {@code /records/0}.
     */
    public List<AuditRecord> readBatch(byte[] body) {
        return parse(body, 0, body.length, true, RecordReader::batch);
    }

    /**
     * Reads one record of an {@code application/x-ndjson} body. Malformed JSON is located by its column alone.
     *
     * @param to exclusive
     */
    public AuditRecord readLine(byte[] bytes, int from, int to) {
        return parse(bytes, from, to, false, RecordReader::line);
    }

    private interface Body<T> {
        T read(JsonParser json, RecordParser records) throws IOException;
    }

    private <T> T parse(byte[] bytes, int from, int to, boolean tellLine, Body<T> body) {
        int scanned = JsonText.scanUtf8(bytes, from, to);
        if (scanned >= 0) {
            throw malformed(tellLine, lineOf(bytes, from, scanned), columnOf(bytes, from, scanned), "Invalid UTF-8");
        }
        OffsetDateTime now = clock.instant().truncatedTo(ChronoUnit.MICROS).atOffset(ZoneOffset.UTC);
        try (JsonParser json = JSON.createParser(bytes, from, to - from)) {
            RecordParser records = new RecordParser(json, bytes, from, scanned == JsonText.WITH_BACKSLASH, guids, now);
            try {
                return body.read(json, records);
            } catch (StreamConstraintsException e) {
                records.wrong("is nested too deeply: at most " + RecordParser.MAX_DEPTH + " levels are taken");
                throw records.refusal();
            }
        } catch (JsonProcessingException e) {
            JsonLocation at = e.getLocation();
            throw malformed(tellLine, at.getLineNr(), at.getColumnNr(), e.getOriginalMessage());
        } catch (IOException e) {
            throw new UncheckedIOException("Bytes in memory cannot fail to be read", e);
        }
    }

    private static AuditRecord one(JsonParser json, RecordParser records) throws IOException {
        JsonToken first = json.nextToken();
        if (first == JsonToken.START_ARRAY) {
            records.wrongAndSkipped(
                    "must be one record, an object: send an array of records to POST /v1/project-logs/batch, as {\"records\":"
                            + " [...]}");
            finish(json, records);
        }
        return record(first, json, records);
    }

    private static AuditRecord line(JsonParser json, RecordParser records) throws IOException {
        return record(json.nextToken(), json, records);
    }

    private static AuditRecord record(@Nullable JsonToken first, JsonParser json, RecordParser records)
            throws IOException {
        if (first == null) {
            throw new ProblemException(ProblemType.MALFORMED_JSON, "There is no JSON here: send a record");
        }
        AuditRecord record = records.record();
        finish(json, records);
        if (record == null) {
            throw records.refusal();
        }
        return record;
    }

    private static List<AuditRecord> batch(JsonParser json, RecordParser records) throws IOException {
        JsonToken first = json.nextToken();
        if (first == null) {
            throw new ProblemException(ProblemType.MALFORMED_JSON, "There is no JSON here: send records");
        }
        @Nullable List<AuditRecord> read = null;
        if (first != JsonToken.START_OBJECT) {
            records.wrongAndSkipped("must be an object with records, " + ARRAY);
            finish(json, records);
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            boolean known = json.currentName().equals("records");
            json.nextToken();
            if (!known) {
                records.wrongAndSkipped(
                        "is not a field of a batch, which has only records; send one record by itself to"
                                + " POST /v1/project-logs");
            } else if (read != null) {
                records.wrongAndSkipped("is there twice: keep one");
            } else {
                read = array(json, records);
            }
        }
        if (read == null) {
            records.wrongField("records", "is required: " + ARRAY);
        }
        finish(json, records);
        return read == null ? List.of() : read;
    }

    private static List<AuditRecord> array(JsonParser json, RecordParser records) throws IOException {
        List<AuditRecord> read = new ArrayList<>();
        if (json.currentToken() != JsonToken.START_ARRAY) {
            records.wrongAndSkipped("must be " + ARRAY);
            return read;
        }
        Map<UUID, Integer> placeById = new HashMap<>();
        int place = 0;
        while (json.nextToken() != JsonToken.END_ARRAY) {
            if (place == MAX_RECORDS) {
                throw new ProblemException(
                        ProblemType.TOO_MANY_RECORDS,
                        "One batch may hold " + MAX_RECORDS + " records: send several batches, or the records as"
                                + " application/x-ndjson to POST /v1/project-logs/import");
            }
            AuditRecord record = records.record();
            if (record != null) {
                read.add(record);
                Integer earlier = placeById.putIfAbsent(record.id(), place);
                if (earlier != null) {
                    records.wrongField("id", "is the id of /records/" + earlier + " too: give each record its own");
                }
            }
            place++;
        }
        if (place == 0) {
            records.wrong("must hold at least one record");
        }
        return read;
    }

    private static void finish(JsonParser json, RecordParser records) throws IOException {
        if (json.nextToken() != null) {
            JsonLocation at = json.currentTokenLocation();
            throw malformed(true, at.getLineNr(), at.getColumnNr(), "More follows after the end of the first value");
        }
        if (records.hasErrors()) {
            throw records.refusal();
        }
    }

    private static ProblemException malformed(boolean tellLine, int line, int column, String message) {
        String where = (tellLine ? " at line " + line + ", column " : " at column ") + column;
        return new ProblemException(
                ProblemType.MALFORMED_JSON, "The JSON is malformed" + where + ": " + inPlainWords(message));
    }

    /** Jackson's message without the locations and settings that it may mention. */
    private static String inPlainWords(String message) {
        String words = message.replaceAll(
                "(?s)\\s*(\\(start marker at|\\(not recognized as one since|: enable `|\\(`|\\[Source|\n).*", "");
        return words.length() <= MAX_MESSAGE_LENGTH ? words : words.substring(0, MAX_MESSAGE_LENGTH) + "…";
    }

    private static int lineOf(byte[] bytes, int from, int at) {
        int line = 1;
        for (int i = from; i < at; i++) {
            if (bytes[i] == '\n') {
                line++;
            }
        }
        return line;
    }

    private static int columnOf(byte[] bytes, int from, int at) {
        int start = at;
        while (start > from && bytes[start - 1] != '\n') {
            start--;
        }
        return at - start + 1;
    }
}
