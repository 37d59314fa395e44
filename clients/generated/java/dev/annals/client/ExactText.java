package dev.annals.client;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The one text of a JSON value that is hashed: RFC 8785, except that numbers keep the digits that they are written with. Every
 * method throws an IllegalArgumentException where there is none, as for a name that stands twice in one object.
 */
final class ExactText {
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

    private ExactText() {}

    static String of(String json) {
        return read(json, ExactText::value);
    }

    /** The members of an object, each in its text. */
    static SortedMap<String, String> members(String json) {
        return read(json, (parser, first) -> {
            require(first == JsonToken.START_OBJECT, "this is no JSON object");
            return object(parser);
        });
    }

    /** The elements of an array, each in its text. */
    static List<String> elements(String json) {
        return read(json, (parser, first) -> {
            require(first == JsonToken.START_ARRAY, "this is no JSON array");
            return array(parser);
        });
    }

    /** The characters of a string. */
    static String string(String json) {
        return read(json, (parser, first) -> {
            require(first == JsonToken.VALUE_STRING, "this is no JSON string");
            return parser.getText();
        });
    }

    private interface Value<T> {
        T read(JsonParser parser, JsonToken first) throws IOException;
    }

    private static <T> T read(String json, Value<T> value) {
        try (JsonParser parser = JSON.createParser(json)) {
            JsonToken first = parser.nextToken();
            require(first != null, "there is no JSON here");
            T read = value.read(parser, first);
            require(parser.nextToken() == null, "there is something behind the JSON value");
            return read;
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e.getOriginalMessage(), e);
        } catch (IOException e) {
            throw new UncheckedIOException("a text in memory cannot fail to be read", e);
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    private static String value(JsonParser json, JsonToken token) throws IOException {
        if (token == JsonToken.START_OBJECT) {
            return object(object(json));
        } else if (token == JsonToken.START_ARRAY) {
            return "[" + String.join(",", array(json)) + "]";
        }
        return token == JsonToken.VALUE_STRING ? quoted(json.getText()) : json.getText();
    }

    private static List<String> array(JsonParser json) throws IOException {
        List<String> elements = new ArrayList<>();
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            elements.add(value(json, token));
        }
        return elements;
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

    /** The text of an object with these members. */
    static String object(SortedMap<String, String> members) {
        StringBuilder out = new StringBuilder("{");
        for (Map.Entry<String, String> member : members.entrySet()) {
            out.append(out.length() == 1 ? "" : ",").append(quoted(member.getKey()));
            out.append(':').append(member.getValue());
        }
        return out.append('}').toString();
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int escape = "\"\\\b\f\n\r\t".indexOf(c);
            if (escape >= 0) {
                out.append('\\').append("\"\\bfnrt".charAt(escape));
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else if (!Character.isSurrogate(c)) {
                out.append(c);
            } else {
                boolean pair = i + 1 < text.length() && Character.isSurrogatePair(c, text.charAt(i + 1));
                require(pair, "a text has half of a surrogate pair");
                out.append(c).append(text.charAt(++i));
            }
        }
        return out.append('"').toString();
    }
}
