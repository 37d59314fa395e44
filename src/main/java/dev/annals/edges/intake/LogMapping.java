package dev.annals.edges.intake;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.RecordReader;
import dev.annals.edges.intake.LogRecord.Refusal;
import dev.annals.edges.intake.LogRecord.Shared;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Makes a record from a log record, as docs/opentelemetry.md describes: attributes with the prefix {@code audit.} are its fields, and
 * everything else becomes metadata. The record is written as JSON and read by the {@link RecordReader}.
 *
 * <p>A log record without {@code audit.id} gets an id from its time and a hash of its content. Two log records are therefore one record if
 * they are equal in everything, to the nanosecond.
 */
final class LogMapping {

    private static final String PREFIX = "audit.";
    private static final Map<String, String[]> FIELDS = Map.ofEntries(
            Map.entry("audit.id", new String[] {"id"}),
            Map.entry("audit.action", new String[] {"action"}),
            Map.entry("audit.actor.type", new String[] {"actor", "type"}),
            Map.entry("audit.actor.id", new String[] {"actor", "id"}),
            Map.entry("audit.actor.name", new String[] {"actor", "name"}),
            Map.entry("audit.subject.type", new String[] {"subject", "type"}),
            Map.entry("audit.subject.id", new String[] {"subject", "id"}),
            Map.entry("audit.subject.name", new String[] {"subject", "name"}),
            Map.entry("audit.outcome", new String[] {"outcome"}),
            Map.entry("audit.ip_address", new String[] {"ip_address"}),
            Map.entry("audit.message", new String[] {"message"}),
            Map.entry("audit.number.sequence", new String[] {"number", "sequence"}));

    /** Another way to make ids needs another prefix, because retries go on across releases. */
    private static final byte[] HASHED = "annals otlp 1\n".getBytes(StandardCharsets.US_ASCII);

    static final int TRACE_BYTES = 16;
    static final int SPAN_BYTES = 8;

    private static final int NANOS = 1_000_000_000;
    private static final int NANOS_PER_MILLI = 1_000_000;

    /** Sorts fields, so that a hash does not depend on the order of attributes. */
    private static final ObjectWriter SORTED = JsonMapper.builder()
            .enable(JsonNodeFeature.WRITE_PROPERTIES_SORTED)
            .build()
            .writer();

    private final RecordReader reader;

    LogMapping(RecordReader reader) {
        this.reader = reader;
    }

    /**
     * Makes the record.
     *
     * @throws Refusal if the log record is no record
     */
    AuditRecord record(LogRecord log, Shared shared) throws Refusal {
        byte[] json = json(log, shared);
        try {
            return reader.readLine(json, 0, json.length);
        } catch (ProblemException e) {
            throw new Refusal(reason(e.problem()));
        }
    }

    private static byte[] json(LogRecord log, Shared shared) throws Refusal {
        Refusal fault = shared.fault();
        if (fault != null) {
            throw fault;
        }
        ObjectNode record = log.attributes().objectNode();
        ObjectNode others = log.attributes().objectNode();
        for (Map.Entry<String, JsonNode> attribute : log.attributes().properties()) {
            if (attribute.getKey().startsWith(PREFIX)) {
                put(attribute.getKey(), attribute.getValue(), record);
            } else {
                others.set(attribute.getKey(), attribute.getValue());
            }
        }
        JsonNode body = log.body();
        boolean isMessage = body != null && body.isTextual() && !record.hasNonNull("message");
        if (isMessage) {
            record.set("message", body);
        }
        long time = log.time() != 0 ? log.time() : log.observedTime();
        if (time != 0) {
            record.put("timestamp", timestamp(time));
        } else if (!record.hasNonNull("id")) {
            throw new Refusal("it has neither audit.id nor a time, so it cannot be told from an equal one");
        }
        ObjectNode metadata = metadata(log, others, isMessage ? null : body);
        byte[] json = write(record, metadata, shared);
        return record.hasNonNull("id") ? json : withId(json, log, time);
    }

    private static void put(String name, JsonNode value, ObjectNode record) throws Refusal {
        String[] path = FIELDS.get(name);
        if (path == null) {
            throw new Refusal(name + " is no attribute of a record");
        }
        if (path.length == 1) {
            record.set(path[0], value);
        } else {
            ObjectNode object = record.get(path[0]) instanceof ObjectNode there ? there : record.putObject(path[0]);
            object.set(path[1], value);
        }
    }

    private static String timestamp(long nanos) {
        return Timestamps.format(
                Instant.ofEpochSecond(Long.divideUnsigned(nanos, NANOS), Long.remainderUnsigned(nanos, NANOS))
                        .atOffset(ZoneOffset.UTC));
    }

    private static ObjectNode metadata(LogRecord log, ObjectNode others, @Nullable JsonNode body) {
        ObjectNode metadata = others.objectNode();
        if (!others.isEmpty()) {
            metadata.set("attributes", others);
        }
        if (body != null) {
            metadata.set("body", body);
        }
        putIfSet("trace_id", log.traceId(), metadata);
        putIfSet("span_id", log.spanId(), metadata);
        putIfSet("event_name", log.eventName(), metadata);
        putIfSet("severity_text", log.severityText(), metadata);
        if (log.severityNumber() != 0) {
            metadata.put("severity_number", log.severityNumber());
        }
        if (log.droppedAttributes() != 0) {
            metadata.put("dropped_attributes", log.droppedAttributes());
        }
        return metadata;
    }

    private static void putIfSet(String name, @Nullable String text, ObjectNode metadata) {
        if (text != null && !text.isEmpty()) {
            metadata.put(name, text);
        }
    }

    private static byte[] write(ObjectNode record, ObjectNode metadata, Shared shared) throws Refusal {
        try {
            return JsonBody.toBytes(512, json -> {
                json.writeStartObject();
                fields(record, json);
                json.writeObjectFieldStart("metadata");
                fields(metadata, json);
                raw("resource", shared.resource(), json);
                raw("scope", shared.scope(), json);
                json.writeEndObject();
                json.writeEndObject();
            });
        } catch (UncheckedIOException e) {
            // Nothing else can fail.
            throw new Refusal("it has a text with half of a surrogate pair");
        }
    }

    private static void fields(ObjectNode object, JsonGenerator json) throws IOException {
        for (Iterator<Map.Entry<String, JsonNode>> fields = object.properties().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .iterator();
                fields.hasNext(); ) {
            Map.Entry<String, JsonNode> field = fields.next();
            json.writeFieldName(field.getKey());
            SORTED.writeValue(json, field.getValue());
        }
    }

    private static void raw(String name, @Nullable String value, JsonGenerator json) throws IOException {
        if (value != null) {
            json.writeFieldName(name);
            json.writeRawValue(value);
        }
    }

    /** The time in milliseconds, so that ids sort by time, and a hash. */
    private static byte[] withId(byte[] json, LogRecord log, long time) {
        MessageDigest digest = sha256();
        digest.update(HASHED);
        digest.update(ByteBuffer.allocate(16)
                .putLong(log.time())
                .putLong(log.observedTime())
                .flip());
        ByteBuffer hash = ByteBuffer.wrap(digest.digest(json));
        long millis = Long.divideUnsigned(time, NANOS_PER_MILLI);
        UUID id = customUuid(millis << 16 | (hash.getLong() & 0xFFF), hash.getLong());
        byte[] start = ("{\"id\":\"" + id + "\",").getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(start.length + json.length - 1)
                .put(start)
                .put(json, 1, json.length - 1)
                .array();
    }

    /** A UUID of version 8, whose bits have no standard meaning. */
    static UUID customUuid(long high, long low) {
        return new UUID((high & ~0xF000L) | 0x8000L, (low & 0x3FFF_FFFF_FFFF_FFFFL) | 0x8000_0000_0000_0000L);
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** In terms of the log record. */
    static String reason(Problem problem) {
        if (problem.errors().isEmpty()) {
            return problem.title() + ": " + problem.detail();
        }
        FieldError error = problem.errors().get(0);
        String pointer = error.pointer();
        String name = pointer.startsWith("/metadata")
                ? pointer.substring(1)
                : pointer.isEmpty() ? "it" : PREFIX + pointer.substring(1).replace('/', '.');
        return name + " " + error.detail();
    }

    /**
     * Adds an attribute, which must not be there yet.
     *
     * @throws Refusal if the attribute is there already
     */
    static void add(String key, JsonNode value, ObjectNode into) throws Refusal {
        if (into.has(key)) {
            throw new Refusal(key + " occurs twice");
        }
        into.set(key, value);
    }

    /** A number; NaN and infinities become texts. */
    static JsonNode number(double value) {
        return Double.isFinite(value) ? DoubleNode.valueOf(value) : TextNode.valueOf(Double.toString(value));
    }

    /** A valid id of a trace or span in lower case; null if it has another length, is not hexadecimal, or is all zeros. */
    static @Nullable String idOrNull(String hex, int bytes) {
        boolean isHex = hex.length() == 2 * bytes && hex.chars().allMatch(HexFormat::isHexDigit);
        return isHex && hex.chars().anyMatch(c -> c != '0') ? hex.toLowerCase(Locale.ROOT) : null;
    }

    static String text(ObjectNode object) {
        try {
            return SORTED.writeValueAsString(object);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree can be written", e);
        }
    }
}
