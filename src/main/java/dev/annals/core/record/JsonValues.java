package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Comparator;
import java.util.Set;
import java.util.function.UnaryOperator;
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

    private static final ObjectMapper VALUES = JsonMapper.builder(JSON)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .build();

    /** 1, 1.0 and 1e0 are one number. */
    private static final Comparator<JsonNode> BY_VALUE = (one, other) -> one.isNumber() && other.isNumber()
            ? one.decimalValue().compareTo(other.decimalValue())
            : one.equals(other) ? 0 : 1;

    /** Those that no field of a record has, and the data that is no JSON. */
    private static final Set<String> EVENT_ATTRIBUTES =
            Set.of("id", "source", "datacontenttype", "dataschema", "data_base64");

    private JsonValues() {}

    /**
     * Whether two objects are the same value; null stands for an empty object. A text too large to be compared (more than
     * 1,000 levels deep, a number of more than 1,000 digits) equals no other.
     */
    static boolean sameObject(@Nullable String left, @Nullable String right) {
        return same(left, right, tree -> tree);
    }

    /** The same for the metadata of a CloudEvent, without its extension attributes: those on its way add some, such as a trace. */
    static boolean sameEvent(@Nullable String left, @Nullable String right) {
        return same(left, right, tree -> {
            if (tree.path("cloudevent") instanceof ObjectNode attributes) {
                attributes.retain(EVENT_ATTRIBUTES);
            }
            return tree;
        });
    }

    private static boolean same(@Nullable String left, @Nullable String right, UnaryOperator<JsonNode> content) {
        String one = left == null ? "{}" : left;
        String other = right == null ? "{}" : right;
        if (one.equals(other)) {
            return true;
        }
        try {
            return content.apply(VALUES.readTree(one)).equals(BY_VALUE, content.apply(VALUES.readTree(other)));
        } catch (IOException | NumberFormatException e) {
            return false;
        }
    }
}
