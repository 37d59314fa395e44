package dev.annals.record;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Compares JSON texts by what they mean. */
final class JsonValues {

    /** Accepts names as long as a record can hold. */
    static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(1_000)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private static final Object NULL = new Object();

    private JsonValues() {}

    /**
     * Whether two objects are the same value; null stands for an empty object. A text too large to be compared (more than
     * 1,000 levels deep, a number of more than 1,000 digits) equals no other.
     */
    static boolean sameObject(@Nullable String left, @Nullable String right) {
        String one = left == null ? "{}" : left;
        String other = right == null ? "{}" : right;
        if (one.equals(other)) {
            return true;
        }
        try {
            return value(one).equals(value(other));
        } catch (IOException | NumberFormatException e) {
            return false;
        }
    }

    private static Object value(String text) throws IOException {
        try (JsonParser json = JSON.createParser(text)) {
            json.nextToken();
            return value(json);
        }
    }

    private static Object value(JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case START_OBJECT -> {
                Map<String, Object> members = new HashMap<>();
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    json.nextToken();
                    members.put(name, value(json));
                }
                yield members;
            }
            case START_ARRAY -> {
                List<Object> elements = new ArrayList<>();
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    elements.add(value(json));
                }
                yield elements;
            }
            case VALUE_STRING -> json.getText();
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new BigDecimal(json.getText()).stripTrailingZeros();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> NULL;
            case FIELD_NAME, END_OBJECT, END_ARRAY, NOT_AVAILABLE, VALUE_EMBEDDED_OBJECT ->
                throw new IOException("No value starts with " + json.currentToken());
        };
    }
}
