package dev.annals.edges.intake;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.annals.edges.intake.LogRecord.Refusal;
import dev.annals.edges.intake.LogRecord.Shared;
import dev.annals.edges.intake.LogRecord.Slice;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestBodies;
import jakarta.ws.rs.core.MediaType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * OTLP as JSON: protobuf's JSON mapping, except that ids are hexadecimal. Unknown fields are skipped, as the specification requires.
 */
final class LogJson implements LogEncoding {

    /** Each nested value takes up to three levels of objects and arrays. */
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .disable(JsonFactory.Feature.CHARSET_DETECTION)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(4 * MAX_DEPTH)
                    .maxNumberLength(1_000)
                    .maxNameLength(MAX_BYTES)
                    .build())
            .build();

    private static final ObjectReader READER = JsonMapper.builder(FACTORY.rebuild()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS, DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .build()
            .readerFor(JsonNode.class);

    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    @Override
    public MediaType type() {
        return RequestBodies.JSON;
    }

    private record Range(int from, int to) {}

    @Override
    public List<Slice> find(byte[] body, int most) {
        List<Slice> slices = new ArrayList<>();
        try (JsonParser json = FACTORY.createParser(body)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw malformed("it is no object with resourceLogs");
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                boolean logs = json.currentName().equals("resourceLogs");
                if (isArray(json, logs, "resourceLogs")) {
                    while (isObject(json, "resourceLogs")) {
                        resourceLogs(body, json, slices, most);
                    }
                }
            }
            if (json.nextToken() != null) {
                throw malformed("more follows after the end of the first value");
            }
        } catch (JsonProcessingException e) {
            JsonLocation at = e.getLocation();
            throw malformed(
                    at == null
                            ? "it is no JSON"
                            : "line " + at.getLineNr() + ", column " + at.getColumnNr() + " is no JSON");
        } catch (IOException e) {
            throw new UncheckedIOException("Bytes in memory cannot fail to be read", e);
        }
        return slices;
    }

    /** Goes to the value of the field. Skips unwanted values; null is an empty array. */
    private static boolean isArray(JsonParser json, boolean wanted, String what) throws IOException {
        JsonToken value = json.nextToken();
        if (!wanted) {
            json.skipChildren();
            return false;
        }
        if (value != JsonToken.START_ARRAY && value != JsonToken.VALUE_NULL) {
            throw malformed(what + " is no array");
        }
        return value == JsonToken.START_ARRAY;
    }

    /** Goes to the next element of an array of objects. Returns false at its end. */
    private static boolean isObject(JsonParser json, String what) throws IOException {
        JsonToken element = json.nextToken();
        if (element != JsonToken.START_OBJECT && element != JsonToken.END_ARRAY) {
            throw malformed("an element of " + what + " is no object");
        }
        return element == JsonToken.START_OBJECT;
    }

    /** Goes to the end of the current object. */
    private static Range range(JsonParser json) throws IOException {
        int from = (int) json.currentTokenLocation().getByteOffset();
        json.skipChildren();
        return new Range(from, (int) json.currentLocation().getByteOffset());
    }

    /** The log records of a scope, which may come before the scope in the JSON. */
    private record ScopeLogs(@Nullable Range scope, List<Range> records) {}

    private static void resourceLogs(byte[] body, JsonParser json, List<Slice> slices, int most) throws IOException {
        @Nullable Range resource = null;
        List<ScopeLogs> scopes = new ArrayList<>();
        int left = most - slices.size();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            if (name.equals("resource")) {
                resource = objectOrNull(json, name);
            } else if (isArray(json, name.equals("scopeLogs"), name)) {
                while (isObject(json, name)) {
                    ScopeLogs logs = scopeLogs(json, left);
                    left -= logs.records().size();
                    if (!logs.records().isEmpty()) {
                        scopes.add(logs);
                    }
                }
            }
        }
        if (scopes.isEmpty()) {
            return;
        }
        Range attributes = resource;
        Shared shared = attributes == null ? Shared.NOTHING : Shared.of(() -> resource(body, attributes));
        for (ScopeLogs logs : scopes) {
            Range scope = logs.scope();
            Shared all = scope == null ? shared : shared.with(() -> scope(body, scope));
            logs.records().forEach(record -> slices.add(new Slice(record.from(), record.to(), all)));
        }
    }

    private static ScopeLogs scopeLogs(JsonParser json, int most) throws IOException {
        @Nullable Range scope = null;
        List<Range> records = new ArrayList<>(0);
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            if (name.equals("scope")) {
                scope = objectOrNull(json, name);
            } else if (isArray(json, name.equals("logRecords"), name)) {
                while (isObject(json, name)) {
                    LogEncoding.requireRoom(records.size(), most);
                    records.add(range(json));
                }
            }
        }
        return new ScopeLogs(scope, records);
    }

    private static @Nullable Range objectOrNull(JsonParser json, String what) throws IOException {
        JsonToken value = json.nextToken();
        if (value != JsonToken.START_OBJECT && value != JsonToken.VALUE_NULL) {
            throw malformed(what + " is no object");
        }
        return value == JsonToken.START_OBJECT ? range(json) : null;
    }

    private static ProblemException malformed(String why) {
        return new ProblemException(
                ProblemType.MALFORMED_JSON, "The body is no ExportLogsServiceRequest of OTLP as JSON: " + why);
    }

    private static ObjectNode resource(byte[] body, Range range) throws Refusal {
        return new Values("its resource").attributes(tree(body, range.from(), range.to(), "its resource"));
    }

    private static ObjectNode scope(byte[] body, Range range) throws Refusal {
        JsonNode read = tree(body, range.from(), range.to(), "its scope");
        ObjectNode scope = NODES.objectNode();
        for (String field : List.of("name", "version")) {
            if (!Values.text(read, field).isEmpty()) {
                scope.put(field, Values.text(read, field));
            }
        }
        ObjectNode attributes = new Values("its scope").attributes(read);
        if (!attributes.isEmpty()) {
            scope.set("attributes", attributes);
        }
        return scope;
    }

    private static JsonNode tree(byte[] body, int from, int to, String what) throws Refusal {
        LogEncoding.requireShort(from, to, what);
        try {
            return READER.readTree(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(body, from, to - from))
                    .toString());
        } catch (CharacterCodingException e) {
            throw new Refusal(what + " has a text that is not UTF-8");
        } catch (IOException e) {
            throw new Refusal(what + " is malformed, or has a field twice");
        }
    }

    @Override
    public LogRecord read(byte[] body, Slice slice) throws Refusal {
        JsonNode log = tree(body, slice.from(), slice.to(), "it");
        Values values = new Values("it");
        JsonNode logBody = log.path("body");
        return new LogRecord(
                Values.number(log, "timeUnixNano", true),
                Values.number(log, "observedTimeUnixNano", true),
                Values.number(log, "severityNumber", false),
                Values.text(log, "severityText"),
                logBody.isMissingNode() || logBody.isNull() ? null : values.value(logBody, 1),
                values.attributes(log),
                id(log, "traceId", LogMapping.TRACE_BYTES),
                id(log, "spanId", LogMapping.SPAN_BYTES),
                Values.text(log, "eventName"),
                Values.number(log, "droppedAttributesCount", false));
    }

    private static @Nullable String id(JsonNode log, String field, int bytes) {
        JsonNode id = log.path(field);
        return id.isTextual() ? LogMapping.idOrNull(id.textValue(), bytes) : null;
    }

    private static final class Values {

        /** More digits than 64 bits have. */
        private static final int MAX_DIGITS = 20;

        private static final Pattern NUMBER =
                Pattern.compile("-?[0-9]{1,1000}(\\.[0-9]{1,1000})?([eE][+-]?[0-9]{1,9})?");

        private final String what;
        private int count;

        Values(String what) {
            this.what = what;
        }

        static String text(JsonNode object, String field) throws Refusal {
            JsonNode value = object.path(field);
            if (!value.isTextual() && !value.isMissingNode() && !value.isNull()) {
                throw new Refusal(field + " must be a string");
            }
            return value.asText("");
        }

        /**
         * A whole number. Protobuf's JSON mapping accepts a number or a text, with or without an exponent, if its value is whole.
         */
        static long number(JsonNode object, String field, boolean unsigned) throws Refusal {
            JsonNode value = object.path(field);
            if (value.isMissingNode() || value.isNull()) {
                return 0;
            }
            if (value.isNumber()
                    || (value.isTextual() && NUMBER.matcher(value.asText()).matches())) {
                try {
                    BigDecimal number = value.isNumber() ? value.decimalValue() : new BigDecimal(value.asText());
                    long digits = (long) number.precision() - number.scale();
                    // A huge exponent must not be expanded.
                    BigInteger whole = digits > MAX_DIGITS && number.signum() != 0
                            ? BigInteger.ONE.shiftLeft(Long.SIZE)
                            : number.toBigIntegerExact();
                    if (whole.bitLength() < Long.SIZE + (unsigned ? 1 : 0) && !(unsigned && whole.signum() < 0)) {
                        return whole.longValue();
                    }
                } catch (ArithmeticException | NumberFormatException e) {
                    // As below.
                }
            }
            throw new Refusal(field + " must be a whole number of 64 bits");
        }

        ObjectNode attributes(JsonNode holder) throws Refusal {
            return pairs(holder.path("attributes"), "attributes", 1);
        }

        private ObjectNode pairs(JsonNode pairs, String name, int depth) throws Refusal {
            ObjectNode object = NODES.objectNode();
            for (JsonNode pair : array(pairs, name)) {
                JsonNode value = pair.path("value");
                LogMapping.add(
                        text(pair, "key"),
                        value.isMissingNode() || value.isNull() ? NullNode.instance : value(value, depth),
                        object);
            }
            return object;
        }

        private static JsonNode array(JsonNode value, String name) throws Refusal {
            if (!value.isArray() && !value.isMissingNode() && !value.isNull()) {
                throw new Refusal(name + " must be an array");
            }
            return value;
        }

        JsonNode value(JsonNode any, int depth) throws Refusal {
            if (depth > MAX_DEPTH) {
                throw new Refusal(what + " has values that are nested too deeply");
            }
            if (++count > MAX_VALUES) {
                throw new Refusal(what + " has more than " + MAX_VALUES + " values");
            }
            if (any.hasNonNull("stringValue")) {
                return TextNode.valueOf(text(any, "stringValue"));
            }
            if (any.hasNonNull("bytesValue")) {
                return TextNode.valueOf(base64(text(any, "bytesValue")));
            }
            if (any.hasNonNull("intValue")) {
                return LongNode.valueOf(number(any, "intValue", false));
            }
            if (any.hasNonNull("boolValue")) {
                if (!any.path("boolValue").isBoolean()) {
                    throw new Refusal("boolValue must be true or false");
                }
                return any.path("boolValue");
            }
            if (any.hasNonNull("doubleValue")) {
                return floating(any.path("doubleValue"));
            }
            if (any.hasNonNull("arrayValue")) {
                ArrayNode array = NODES.arrayNode();
                for (JsonNode element : array(any.path("arrayValue").path("values"), "values")) {
                    array.add(value(element, depth + 1));
                }
                return array;
            }
            return any.hasNonNull("kvlistValue")
                    ? pairs(any.path("kvlistValue").path("values"), "values", depth + 1)
                    : NullNode.instance;
        }

        /** Normalizes base64: protobuf's JSON mapping accepts both alphabets, with or without padding. */
        private static String base64(String text) {
            try {
                byte[] bytes = Base64.getDecoder().decode(text.replace('-', '+').replace('_', '/'));
                return Base64.getEncoder().encodeToString(bytes);
            } catch (IllegalArgumentException e) {
                return text;
            }
        }

        private static JsonNode floating(JsonNode value) throws Refusal {
            try {
                if (value.isNumber() || value.isTextual()) {
                    return LogMapping.number(Double.parseDouble(value.asText()));
                }
            } catch (NumberFormatException e) {
                // As below.
            }
            throw new Refusal("doubleValue must be a number");
        }
    }

    @Override
    public byte[] answer(long refused, String message) {
        return JsonBody.toBytes(64 + message.length(), json -> {
            json.writeStartObject();
            if (refused > 0) {
                json.writeObjectFieldStart("partialSuccess");
                json.writeStringField("rejectedLogRecords", Long.toString(refused));
                json.writeStringField("errorMessage", message);
                json.writeEndObject();
            }
            json.writeEndObject();
        });
    }
}
