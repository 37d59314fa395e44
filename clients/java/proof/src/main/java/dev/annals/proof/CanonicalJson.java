package dev.annals.proof;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import jakarta.annotation.Nullable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The canonical text of a JSON value, which is hashed: RFC 8785, except that numbers keep their digits. PostgreSQL distinguishes
 * 12345678901234567890 and 1.10 from their neighbours; a double does not.
 */
public final class CanonicalJson {

    private static final int MAX_DEPTH = 200;

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private CanonicalJson() {}

    /**
     * Makes the canonical text of a JSON text.
     *
     * @throws IllegalArgumentException if it is not one JSON value, repeats a name in an object, has half of a surrogate pair, or more than
     * 200 levels
     */
    public static String of(String json) {
        return read(json, CanonicalJson::value);
    }

    /**
     * Reads an object, each value as canonical text.
     *
     * @throws IllegalArgumentException as in {@link #of}, or if it is not an object
     */
    public static SortedMap<String, String> members(String json) {
        return read(json, (parser, first) -> {
            if (first != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("this is no JSON object");
            }
            return object(parser);
        });
    }

    /**
     * Reads an array, each element as canonical text.
     *
     * @throws IllegalArgumentException as in {@link #of}, or if it is not an array
     */
    public static List<String> elements(String json) {
        return read(json, (parser, first) -> {
            if (first != JsonToken.START_ARRAY) {
                throw new IllegalArgumentException("this is no JSON array");
            }
            return array(parser);
        });
    }

    /**
     * Reads a whole number from 0: a size, or an index in a log.
     *
     * @throws IllegalArgumentException if it is another text, or null
     */
    public static long natural(@Nullable String text) {
        if (text == null || !text.matches("0|[1-9][0-9]{0,17}")) {
            throw new IllegalArgumentException(text + " is no size and no place of a log");
        }
        return Long.parseLong(text);
    }

    /**
     * Reads the characters of a JSON string.
     *
     * @throws IllegalArgumentException if it is not a JSON string
     */
    public static String string(String json) {
        return read(json, (parser, first) -> {
            if (first != JsonToken.VALUE_STRING) {
                throw new IllegalArgumentException(json + " is no JSON string");
            }
            return parser.getText();
        });
    }

    private interface Value<T> {
        T read(JsonParser parser, JsonToken first) throws IOException;
    }

    private static <T> T read(String json, Value<T> value) {
        try (JsonParser parser = JSON.createParser(json)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw new IllegalArgumentException("there is no JSON here");
            }
            T read = value.read(parser, first);
            if (parser.nextToken() != null) {
                throw new IllegalArgumentException("there is something behind the JSON value");
            }
            return read;
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e.getOriginalMessage(), e);
        } catch (IOException e) {
            throw new UncheckedIOException("a text in memory cannot fail to be read", e);
        }
    }

    private static String value(JsonParser json, JsonToken token) throws IOException {
        return switch (token) {
            case START_OBJECT -> written(object(json));
            case START_ARRAY -> "[" + String.join(",", array(json)) + "]";
            case VALUE_STRING -> quoted(json.getText());
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT, VALUE_TRUE, VALUE_FALSE, VALUE_NULL -> json.getText();
            case END_OBJECT, END_ARRAY, FIELD_NAME, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE ->
                throw new IllegalStateException("no value begins with " + token);
        };
    }

    private static SortedMap<String, String> object(JsonParser json) throws IOException {
        // Strings compare by UTF-16 code units, as RFC 8785 sorts names.
        SortedMap<String, String> members = new TreeMap<>();
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            members.put(name, value(json, json.nextToken()));
        }
        return members;
    }

    /**
     * Makes the canonical text of an object.
     *
     * @param members values that are canonical already
     */
    static String written(SortedMap<String, String> members) {
        StringBuilder out = new StringBuilder();
        char before = '{';
        for (Map.Entry<String, String> member : members.entrySet()) {
            out.append(before);
            quote(member.getKey(), out);
            out.append(':').append(member.getValue());
            before = ',';
        }
        return members.isEmpty() ? "{}" : out.append('}').toString();
    }

    private static List<String> array(JsonParser json) throws IOException {
        List<String> elements = new ArrayList<>();
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            elements.add(value(json, token));
        }
        return elements;
    }

    /**
     * Makes the canonical text of a string.
     *
     * @throws IllegalArgumentException if it has half of a surrogate pair
     */
    public static String quoted(String text) {
        StringBuilder out = new StringBuilder(text.length() + 2);
        quote(text, out);
        return out.toString();
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= ' ' && c != '"' && c != '\\' && !Character.isSurrogate(c)) {
                out.append(c);
            } else if (Character.isSurrogate(c)) {
                if (!Character.isHighSurrogate(c)
                        || i + 1 == text.length()
                        || !Character.isLowSurrogate(text.charAt(i + 1))) {
                    throw new IllegalArgumentException("a text has half of a surrogate pair");
                }
                out.append(c).append(text.charAt(i + 1));
                i++;
            } else {
                out.append(ESCAPES.getOrDefault(c, String.format("\\u%04x", (int) c)));
            }
        }
        out.append('"');
    }

    private static final Map<Character, String> ESCAPES = new HashMap<>(
            Map.of('"', "\\\"", '\\', "\\\\", '\b', "\\b", '\f', "\\f", '\n', "\\n", '\r', "\\r", '\t', "\\t"));
}
