package dev.annals.edges.intake;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.JsonText;
import dev.annals.core.record.RecordReader;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.vertx.core.MultiMap;
import jakarta.ws.rs.core.HttpHeaders;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads records from CloudEvents, as docs/cloudevents.md describes. An event of the service's own type contains a record as its data. Any
 * other event becomes a record whose action is the event's type. The {@link RecordReader} then reads the record; problems name the place in
 * the body.
 *
 * <p>Values are copied as bytes, so that no number changes.
 */
final class CloudEventReader {

    static final String HEADER = "ce-";

    private static final String OWN = "dev.annals.record.";
    /** The service sets these fields anew when it takes a record back. */
    private static final Set<String> SET_BY_THE_SERVICE =
            Set.of("sequence_id", "recorded_at", "recorded_by", "redacted");

    private static final int MAX_ATTRIBUTES = 100;
    private static final int MAX_ATTRIBUTE_CHARACTERS = 4_096;
    private static final Pattern ATTRIBUTE = Pattern.compile("[a-z0-9]{1,64}");
    /** Extensions may also be numbers and booleans. */
    private static final Set<String> TEXTS = Set.of(
            "specversion",
            "id",
            "source",
            "type",
            "subject",
            "time",
            "datacontenttype",
            "dataschema",
            "authtype",
            "authid");

    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(JsonFactory.Feature.CHARSET_DETECTION)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(100)
                    .maxNumberLength(1_000)
                    .maxNameLength(RecordReader.MAX_RECORD_BYTES)
                    .build())
            .build();

    private final RecordReader reader;

    CloudEventReader(RecordReader reader) {
        this.reader = reader;
    }

    /** Fails with a {@link ProblemException} as {@link RecordReader} does. */
    AuditRecord readEvent(byte[] body) {
        return parse(body, json -> {
            require(json.currentToken() == JsonToken.START_OBJECT, "", "must be one event, an object");
            return record(event(json, body, ""));
        });
    }

    /** In binary mode the attributes are in the headers, and the body is the data. */
    AuditRecord readBinary(MultiMap headers, byte[] body) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (Map.Entry<String, String> header : headers) {
            String name = header.getKey().toLowerCase(Locale.ROOT);
            if (name.startsWith(HEADER)) {
                String attribute = name.substring(HEADER.length());
                require(
                        ATTRIBUTE.matcher(attribute).matches() && !attribute.equals("data"),
                        "",
                        "has an attribute whose name is none: it has 1 to 64 letters from a to z and digits");
                require(texts.size() < MAX_ATTRIBUTES, "", "may have " + MAX_ATTRIBUTES + " attributes");
                String text = decoded(header.getValue(), "/" + attribute);
                require(texts.put(attribute, text) == null, "/" + attribute, "occurs twice");
            }
        }
        String type = headers.get(HttpHeaders.CONTENT_TYPE);
        if (type != null) {
            texts.put("datacontenttype", type.strip());
        }
        return record(binary(texts, type, body));
    }

    private static Event binary(Map<String, String> texts, @Nullable String type, byte[] body) {
        String essence =
                type == null ? "" : type.replaceFirst(";.*", "").strip().toLowerCase(Locale.ROOT);
        boolean isXml = essence.endsWith("/xml") || essence.endsWith("+xml");
        if (body.length == 0) {
            return new Event("", texts, null, null);
        }
        // As in JSON mode, data without a type is JSON.
        if (type == null || essence.endsWith("/json") || essence.endsWith("+json")) {
            return parse(body, json -> {
                if (json.currentToken() != JsonToken.START_OBJECT) {
                    return new Event("", texts, raw(json, body), null);
                }
                int from = (int) json.currentTokenLocation().getByteOffset();
                Map<String, Raw> fields = fields(json, body);
                return new Event(
                        "",
                        texts,
                        new Raw(body, from, (int) json.currentLocation().getByteOffset()),
                        fields);
            });
        }
        if ((isXml || essence.startsWith("text/")) && JsonText.scanUtf8(body, 0, body.length) < 0) {
            byte[] text = quoted(new String(body, StandardCharsets.UTF_8));
            return new Event("", texts, new Raw(text, 0, text.length), null);
        }
        texts.put("data_base64", Base64.getEncoder().encodeToString(body));
        return new Event("", texts, null, null);
    }

    /**
     * Removes quotes and decodes percent-encoding once, according to the HTTP binding of CloudEvents. A percent sign without two
     * hexadecimal digits stays. Bytes that are not encoded are accepted, because some senders do not encode them.
     */
    private static String decoded(String value, String pointer) {
        String text = value.strip();
        boolean isQuoted = text.length() > 1 && text.startsWith("\"") && text.endsWith("\"");
        text = isQuoted ? text.substring(1, text.length() - 1).replaceAll("\\\\(.)", "$1") : text;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean isEncoded = c == '%'
                    && i + 2 < text.length()
                    && HexFormat.isHexDigit(text.charAt(i + 1))
                    && HexFormat.isHexDigit(text.charAt(i + 2));
            bytes.write(isEncoded ? HexFormat.fromHexDigits(text, i + 1, i + 3) : c);
            i += isEncoded ? 2 : 0;
        }
        byte[] utf8 = bytes.toByteArray();
        require(JsonText.scanUtf8(utf8, 0, utf8.length) < 0, pointer, "must be UTF-8, percent-encoded");
        String decoded = new String(utf8, StandardCharsets.UTF_8);
        require(
                decoded.length() <= MAX_ATTRIBUTE_CHARACTERS,
                pointer,
                "must have at most " + MAX_ATTRIBUTE_CHARACTERS + " characters");
        return decoded;
    }

    List<AuditRecord> readBatch(byte[] body) {
        return parse(body, json -> {
            require(json.currentToken() == JsonToken.START_ARRAY, "", "must be an array of events");
            List<AuditRecord> records = new ArrayList<>();
            Map<UUID, Integer> placeById = new HashMap<>();
            while (json.nextToken() != JsonToken.END_ARRAY) {
                String pointer = "/" + records.size();
                if (records.size() == RecordReader.MAX_RECORDS) {
                    throw new ProblemException(
                            ProblemType.TOO_MANY_RECORDS,
                            "One batch may hold " + RecordReader.MAX_RECORDS + " events: send several batches");
                }
                require(json.currentToken() == JsonToken.START_OBJECT, pointer, "must be an event, an object");
                AuditRecord record = record(event(json, body, pointer));
                Integer earlier = placeById.putIfAbsent(record.id(), records.size());
                require(
                        earlier == null || record.sameContentAs(records.get(earlier)),
                        pointer + "/id",
                        "is the id of /" + earlier + " too, which has other content");
                records.add(record);
            }
            require(!records.isEmpty(), "", "must hold at least one event");
            return records;
        });
    }

    private interface Body<T> {
        T read(JsonParser json) throws IOException;
    }

    private static <T> T parse(byte[] bytes, Body<T> body) {
        if (JsonText.scanUtf8(bytes, 0, bytes.length) >= 0) {
            throw new ProblemException(ProblemType.MALFORMED_JSON, "The JSON is malformed: it is not UTF-8");
        }
        try (JsonParser json = JSON.createParser(bytes)) {
            if (json.nextToken() == null) {
                throw new ProblemException(ProblemType.MALFORMED_JSON, "The body is empty: send an event");
            }
            T read = body.read(json);
            if (json.nextToken() != null) {
                throw malformed(json.currentTokenLocation(), "More follows after the end of the first value");
            }
            return read;
        } catch (StreamConstraintsException e) {
            throw invalid("", "is nested too deeply, or has names or numbers that are too long");
        } catch (JsonProcessingException e) {
            throw malformed(e.getLocation(), "It is no JSON, or has a field twice");
        } catch (IOException e) {
            throw new UncheckedIOException("Bytes in memory cannot fail to be read", e);
        }
    }

    private static ProblemException malformed(@Nullable JsonLocation at, String why) {
        String where = at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
        return new ProblemException(ProblemType.MALFORMED_JSON, "The JSON is malformed" + where + ": " + why);
    }

    private static void require(boolean fulfilled, String pointer, String otherwise) {
        if (!fulfilled) {
            throw invalid(pointer, otherwise);
        }
    }

    private static ProblemException invalid(String pointer, String why) {
        return new ProblemException(Problem.of(
                        ProblemType.INVALID_RECORD,
                        "One field is wrong, so nothing was stored: correct what errors names")
                .withErrors(List.of(new FieldError(pointer, why))));
    }

    private static final class Raw {
        private final byte[] body;
        private final int from;
        private final int to;

        Raw(byte[] body, int from, int to) {
            this.body = body;
            this.from = from;
            this.to = to;
        }

        void writeTo(ByteArrayOutputStream out) {
            out.write(body, from, to - from);
        }

        JsonParser parser() throws IOException {
            return JSON.createParser(body, from, to - from);
        }

        /** The parser counts the bytes of {@code value} from the beginning of this one. */
        Raw part(Raw value) {
            return new Raw(body, from + value.from, from + value.to);
        }
    }

    /**
     * @param pointer to the event in the body
     * @param texts the attributes; numbers and booleans as text
     * @param data null if it has none
     * @param fields of the data, if it is an object
     */
    private record Event(
            String pointer,
            Map<String, String> texts,
            @Nullable Raw data,
            @Nullable Map<String, Raw> fields) {

        String required(String attribute) {
            String text = texts.getOrDefault(attribute, "");
            require(!text.isEmpty(), pointer + "/" + attribute, "is required: a string that is not empty");
            return text;
        }
    }

    private static Event event(JsonParser json, byte[] body, String pointer) throws IOException {
        Map<String, String> texts = new LinkedHashMap<>();
        @Nullable Raw data = null;
        @Nullable Map<String, Raw> fields = null;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            JsonToken value = json.nextToken();
            if (name.equals("data") && value == JsonToken.START_OBJECT) {
                int from = (int) json.currentTokenLocation().getByteOffset();
                fields = fields(json, body);
                data = new Raw(body, from, (int) json.currentLocation().getByteOffset());
            } else if (name.equals("data")) {
                data = value == JsonToken.VALUE_NULL ? null : raw(json, body);
            } else if (value != JsonToken.VALUE_NULL) {
                require(texts.size() < MAX_ATTRIBUTES, pointer, "may have " + MAX_ATTRIBUTES + " attributes");
                texts.put(name, attribute(json, name, pointer));
            }
        }
        return new Event(pointer, texts, data, fields);
    }

    private static String attribute(JsonParser json, String name, String pointer) throws IOException {
        boolean data = name.equals("data_base64");
        require(
                data || ATTRIBUTE.matcher(name).matches(),
                pointer,
                "has an attribute whose name is none: it has 1 to 64 letters from a to z and digits");
        boolean text = data || TEXTS.contains(name);
        JsonToken value = json.currentToken();
        require(
                text ? value == JsonToken.VALUE_STRING : value.isScalarValue(),
                pointer + "/" + name,
                text ? "must be a string" : "must be a string, a number or a boolean");
        int most = data ? RecordReader.MAX_RECORD_BYTES : MAX_ATTRIBUTE_CHARACTERS;
        require(json.getTextLength() <= most, pointer + "/" + name, "must have at most " + most + " characters");
        return json.getText();
    }

    private static Map<String, Raw> fields(JsonParser json, byte[] body) throws IOException {
        Map<String, Raw> fields = new LinkedHashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            json.nextToken();
            fields.put(name, raw(json, body));
        }
        return fields;
    }

    private static Raw raw(JsonParser json, byte[] body) throws IOException {
        int from = (int) json.currentTokenLocation().getByteOffset();
        json.skipChildren();
        json.finishToken();
        return new Raw(body, from, (int) json.currentLocation().getByteOffset());
    }

    private AuditRecord record(Event event) {
        require(
                event.required("specversion").equals("1.0"),
                event.pointer() + "/specversion",
                "must be 1.0, the version of CloudEvents that is read here");
        String id = event.required("id");
        String source = event.required("source");
        boolean own = event.required("type").startsWith(OWN);
        @Nullable Map<String, Raw> fields = event.fields();
        require(!own || fields != null, event.pointer() + "/data", "must be a record, as the event's type says");
        byte[] record = own && fields != null ? own(id, fields) : other(id(id, source), event);
        AuditRecord read;
        try {
            read = reader.readLine(record, 0, record.length);
        } catch (ProblemException e) {
            throw new ProblemException(inEvent(e.problem(), event, own));
        }
        require(
                !own || read.id().equals(CanonicalGuid.parse(id)),
                event.pointer() + "/id",
                "must be the id of the record in data");
        return own ? read : read.asEvent();
    }

    /** Leaves out the fields that the service sets. */
    private static byte[] own(String id, Map<String, Raw> fields) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Map<String, Raw> sent = new LinkedHashMap<>(fields);
        sent.keySet().removeAll(SET_BY_THE_SERVICE);
        Raw number = sent.remove("number");
        out.write('{');
        if (!sent.containsKey("id")) {
            name("id", out);
            out.writeBytes(quoted(id));
        }
        sent.forEach((name, value) -> {
            name(name, out);
            value.writeTo(out);
        });
        if (number != null) {
            name("number", out);
            withoutValue(number, out);
        }
        out.write('}');
        return out.toByteArray();
    }

    private static void name(String name, ByteArrayOutputStream out) {
        if (out.size() > 1) {
            out.write(',');
        }
        out.writeBytes(quoted(name));
        out.write(':');
    }

    /** Half of a surrogate pair becomes an escape, and the {@link RecordReader} refuses it. */
    private static byte[] quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\' || c < ' ' || Character.isSurrogate(c)) {
                json.append("\\u").append(HexFormat.of().toHexDigits(c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString().getBytes(StandardCharsets.UTF_8);
    }

    /** The service sets the value: a stored record has one, and a new record gets the next. */
    private static void withoutValue(Raw number, ByteArrayOutputStream out) {
        try (JsonParser json = number.parser()) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                number.writeTo(out);
                return;
            }
            ByteArrayOutputStream object = new ByteArrayOutputStream();
            object.write('{');
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                json.nextToken();
                Raw value = number.part(raw(json, number.body));
                if (!name.equals("value")) {
                    name(name, object);
                    value.writeTo(object);
                }
            }
            object.write('}');
            out.writeBytes(object.toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException("it was read before", e);
        }
    }

    /** {@code type} is the action, and attributes without a field become metadata. */
    private static byte[] other(UUID id, Event event) {
        Map<String, String> left = new LinkedHashMap<>(event.texts());
        left.remove("specversion");
        String type = left.remove("type");
        String subject = left.remove("subject");
        String time = left.remove("time");
        String actorType = left.remove("authtype");
        String actorId = left.remove("authid");
        String eventId = left.remove("id");
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write('{');
        text("id", id.toString(), out);
        text("action", type, out);
        text("timestamp", time, out);
        if (subject != null) {
            name("subject", out);
            out.writeBytes(object(Map.of("id", subject)));
        }
        if (actorType != null || actorId != null) {
            Map<String, String> actor = new LinkedHashMap<>();
            if (actorType != null) {
                actor.put("type", actorType);
            }
            if (actorId != null) {
                actor.put("id", actorId);
            }
            name("actor", out);
            out.writeBytes(object(actor));
        }
        if (eventId != null) {
            left.put("id", eventId);
        }
        name("metadata", out);
        out.writeBytes("{\"cloudevent\":".getBytes(StandardCharsets.US_ASCII));
        out.writeBytes(object(left));
        Raw data = event.data();
        if (data != null) {
            out.writeBytes(",\"data\":".getBytes(StandardCharsets.US_ASCII));
            data.writeTo(out);
        }
        out.writeBytes("}}".getBytes(StandardCharsets.US_ASCII));
        return out.toByteArray();
    }

    private static void text(String name, @Nullable String value, ByteArrayOutputStream out) {
        if (value != null) {
            name(name, out);
            out.writeBytes(quoted(value));
        }
    }

    private static byte[] object(Map<String, String> texts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write('{');
        texts.forEach((name, value) -> text(name, value, out));
        out.write('}');
        return out.toByteArray();
    }

    /** Only source and id together identify the event. The id alone does not, even if it is a UUID. */
    private static UUID id(String id, String source) {
        MessageDigest digest = LogMapping.sha256();
        byte[] from = source.getBytes(StandardCharsets.UTF_8);
        digest.update("annals cloudevents 1\n".getBytes(StandardCharsets.US_ASCII));
        digest.update(ByteBuffer.allocate(4).putInt(from.length).flip());
        digest.update(from);
        ByteBuffer hash = ByteBuffer.wrap(digest.digest(id.getBytes(StandardCharsets.UTF_8)));
        return LogMapping.customUuid(hash.getLong(), hash.getLong());
    }

    /** Turns pointers into the record into pointers into the event. */
    private static Problem inEvent(Problem problem, Event event, boolean own) {
        if (problem.errors().isEmpty()) {
            return Problem.of(ProblemType.INVALID_RECORD, problem.detail())
                    .withErrors(List.of(new FieldError(event.pointer() + "/data", "cannot be read")));
        }
        return problem.withErrors(problem.errors().stream()
                .map(error -> new FieldError(
                        event.pointer() + (own ? "/data" + error.pointer() : ofOther(error.pointer())), error.detail()))
                .toList());
    }

    private static String ofOther(String pointer) {
        return switch (pointer) {
            case "/action" -> "/type";
            case "/subject/id" -> "/subject";
            case "/timestamp" -> "/time";
            case "/actor/type" -> "/authtype";
            case "/actor/id" -> "/authid";
            default -> pointer.startsWith("/metadata/") ? pointer.replaceFirst("/metadata(/cloudevent)?", "") : pointer;
        };
    }
}
