package dev.annals.edges.intake;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.annals.edges.intake.LogRecord.Refusal;
import dev.annals.edges.intake.LogRecord.Shared;
import dev.annals.edges.intake.LogRecord.Slice;
import dev.annals.edges.intake.ProtobufReader.Malformed;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import jakarta.ws.rs.core.MediaType;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * OTLP as protobuf: {@code ExportLogsServiceRequest} of opentelemetry-proto 1. Only the fields that a record can store are read. Unknown
 * fields are skipped, as protobuf requires.
 */
final class LogProtobuf implements LogEncoding {

    static final MediaType TYPE = new MediaType("application", "x-protobuf");

    private static final ObjectMapper PROBLEMS = new ObjectMapper();
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    @Override
    public MediaType type() {
        return TYPE;
    }

    @Override
    public List<Slice> find(byte[] body, int most) {
        List<Slice> slices = new ArrayList<>();
        try {
            ProtobufReader request = new ProtobufReader(body, 0, body.length);
            while (request.next()) {
                if (request.field() == 1) {
                    resourceLogs(body, request.message(), slices, most);
                }
            }
        } catch (Malformed e) {
            throw new ProblemException(
                    ProblemType.MALFORMED_ENCODING,
                    "The body is no ExportLogsServiceRequest of OTLP as protobuf: " + e.getMessage());
        }
        return slices;
    }

    private static void resourceLogs(byte[] body, ProtobufReader logs, List<Slice> slices, int most) {
        @Nullable ProtobufReader resource = null;
        for (ProtobufReader fields = again(body, logs); fields.next(); ) {
            if (fields.field() == 1) {
                resource = fields.message();
            }
        }
        ProtobufReader attributes = resource;
        @Nullable Shared shared = null;
        while (logs.next()) {
            if (logs.field() == 2) {
                ProtobufReader scopeLogs = logs.message();
                // Once for all log records, and not for resources without any: a body may have millions of either.
                if (shared == null && hasRecords(again(body, scopeLogs))) {
                    shared = attributes == null
                            ? Shared.NOTHING
                            : Shared.of(() -> wellFormed("its resource", () -> resource(again(body, attributes))));
                }
                if (shared != null) {
                    scopeLogs(body, shared, scopeLogs, slices, most);
                }
            }
        }
    }

    private static boolean hasRecords(ProtobufReader scopeLogs) {
        while (scopeLogs.next()) {
            if (scopeLogs.field() == 2) {
                return true;
            }
        }
        return false;
    }

    private static void scopeLogs(byte[] body, Shared resource, ProtobufReader logs, List<Slice> slices, int most) {
        @Nullable ProtobufReader scope = null;
        for (ProtobufReader fields = again(body, logs); fields.next(); ) {
            if (fields.field() == 1) {
                scope = fields.message();
            }
        }
        ProtobufReader named = scope;
        @Nullable Shared shared = null;
        while (logs.next()) {
            if (logs.field() == 2) {
                if (shared == null) {
                    shared = named == null
                            ? resource
                            : resource.with(() -> wellFormed("its scope", () -> scope(again(body, named))));
                }
                ProtobufReader record = logs.message();
                LogEncoding.requireRoom(slices.size(), most);
                slices.add(new Slice(record.from(), record.end(), shared));
            }
        }
    }

    private static ProtobufReader again(byte[] body, ProtobufReader message) {
        return new ProtobufReader(body, message.from(), message.end());
    }

    private static ObjectNode wellFormed(String what, LogRecord.Reading reading) throws Refusal {
        try {
            return reading.get();
        } catch (Malformed e) {
            throw new Refusal(what + " is malformed: " + e.getMessage());
        }
    }

    private static ObjectNode resource(ProtobufReader fields) throws Refusal {
        LogEncoding.requireShort(fields.from(), fields.end(), "its resource");
        Values values = new Values("its resource");
        ObjectNode attributes = JSON.objectNode();
        while (fields.next()) {
            if (fields.field() == 1) {
                values.attribute(fields.message(), attributes, 1);
            }
        }
        return attributes;
    }

    private static ObjectNode scope(ProtobufReader fields) throws Refusal {
        LogEncoding.requireShort(fields.from(), fields.end(), "its scope");
        Values values = new Values("its scope");
        ObjectNode scope = JSON.objectNode();
        ObjectNode attributes = JSON.objectNode();
        while (fields.next()) {
            switch (fields.field()) {
                case 1 -> values.text(fields, "name", scope);
                case 2 -> values.text(fields, "version", scope);
                case 3 -> values.attribute(fields.message(), attributes, 1);
                default -> {}
            }
        }
        if (!attributes.isEmpty()) {
            scope.set("attributes", attributes);
        }
        return scope;
    }

    @Override
    public LogRecord read(byte[] body, Slice slice) throws Refusal {
        LogEncoding.requireShort(slice.from(), slice.to(), "it");
        try {
            return read(new ProtobufReader(body, slice.from(), slice.to()));
        } catch (Malformed e) {
            throw new Refusal("it is malformed: " + e.getMessage());
        }
    }

    private static LogRecord read(ProtobufReader fields) throws Refusal {
        Values values = new Values("it");
        ObjectNode texts = JSON.objectNode();
        ObjectNode attributes = JSON.objectNode();
        long time = 0;
        long observedTime = 0;
        long severity = 0;
        long dropped = 0;
        @Nullable JsonNode body = null;
        String trace = "";
        String span = "";
        while (fields.next()) {
            switch (fields.field()) {
                case 1 -> time = fields.fixed64();
                case 2 -> severity = fields.varint();
                case 3 -> values.text(fields, "severity_text", texts);
                case 5 -> body = values.value(fields.message(), 1);
                case 6 -> values.attribute(fields.message(), attributes, 1);
                case 7 -> dropped = fields.varint();
                case 9 -> trace = hex(fields.bytes());
                case 10 -> span = hex(fields.bytes());
                case 11 -> observedTime = fields.fixed64();
                case 12 -> values.text(fields, "event_name", texts);
                default -> {}
            }
        }
        return new LogRecord(
                time,
                observedTime,
                severity,
                texts.path("severity_text").textValue(),
                body,
                attributes,
                LogMapping.idOrNull(trace, LogMapping.TRACE_BYTES),
                LogMapping.idOrNull(span, LogMapping.SPAN_BYTES),
                texts.path("event_name").textValue(),
                dropped);
    }

    private static String hex(ByteBuffer bytes) {
        return HexFormat.of().formatHex(copy(bytes));
    }

    private static byte[] copy(ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }

    /** Counts the values of one log record, resource or scope. */
    private static final class Values {

        private final String what;
        private int count;

        Values(String what) {
            this.what = what;
        }

        void text(ProtobufReader field, String name, ObjectNode into) throws Refusal {
            into.put(name, text(field));
        }

        void attribute(ProtobufReader pair, ObjectNode into, int depth) throws Refusal {
            String key = "";
            JsonNode value = NullNode.instance;
            while (pair.next()) {
                switch (pair.field()) {
                    case 1 -> key = text(pair);
                    case 2 -> value = value(pair.message(), depth);
                    default -> {}
                }
            }
            LogMapping.add(key, value, into);
        }

        JsonNode value(ProtobufReader any, int depth) throws Refusal {
            if (depth > MAX_DEPTH) {
                throw new Refusal(what + " has values that are nested too deeply");
            }
            if (++count > MAX_VALUES) {
                throw new Refusal(what + " has more than " + MAX_VALUES + " values");
            }
            JsonNode value = NullNode.instance;
            while (any.next()) {
                value = switch (any.field()) {
                    case 1 -> TextNode.valueOf(text(any));
                    case 2 -> BooleanNode.valueOf(any.varint() != 0);
                    case 3 -> LongNode.valueOf(any.varint());
                    case 4 -> LogMapping.number(Double.longBitsToDouble(any.fixed64()));
                    case 5 -> array(any.message(), depth);
                    case 6 -> object(any.message(), depth);
                    case 7 -> TextNode.valueOf(Base64.getEncoder().encodeToString(copy(any.bytes())));
                    default -> value;
                };
            }
            return value;
        }

        private ArrayNode array(ProtobufReader values, int depth) throws Refusal {
            ArrayNode array = JSON.arrayNode();
            while (values.next()) {
                if (values.field() == 1) {
                    array.add(value(values.message(), depth + 1));
                }
            }
            return array;
        }

        private ObjectNode object(ProtobufReader pairs, int depth) throws Refusal {
            ObjectNode object = JSON.objectNode();
            while (pairs.next()) {
                if (pairs.field() == 1) {
                    attribute(pairs.message(), object, depth + 1);
                }
            }
            return object;
        }

        private String text(ProtobufReader field) throws Refusal {
            String text = field.text();
            if (text == null) {
                throw new Refusal(what + " has a text that is not UTF-8");
            }
            return text;
        }
    }

    /** {@code ExportLogsServiceResponse}; empty if nothing was refused. */
    @Override
    public byte[] answer(long refused, String message) {
        ByteArrayOutputStream partial = new ByteArrayOutputStream();
        if (refused > 0) {
            partial.write(1 << 3 | ProtobufReader.VARINT);
            varint(refused, partial);
            bytes(2, message.getBytes(StandardCharsets.UTF_8), partial);
        }
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        if (refused > 0) {
            bytes(1, partial.toByteArray(), answer);
        }
        return answer.toByteArray();
    }

    /** A problem as {@code google.rpc.Status}, of which a Collector shows the message. */
    static byte[] status(byte[] problem) {
        ByteArrayOutputStream status = new ByteArrayOutputStream();
        bytes(2, message(problem).getBytes(StandardCharsets.UTF_8), status);
        return status.toByteArray();
    }

    private static String message(byte[] problem) {
        try {
            JsonNode fields = PROBLEMS.readTree(problem);
            return fields.path("title").asText() + ": " + fields.path("detail").asText();
        } catch (IOException e) {
            throw new UncheckedIOException("a problem is JSON", e);
        }
    }

    private static void bytes(int field, byte[] value, ByteArrayOutputStream out) {
        out.write(field << 3 | ProtobufReader.BYTES);
        varint(value.length, out);
        out.writeBytes(value);
    }

    private static void varint(long value, ByteArrayOutputStream out) {
        long rest = value;
        while (rest >>> 7 != 0) {
            out.write((int) (rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        out.write((int) rest);
    }
}
