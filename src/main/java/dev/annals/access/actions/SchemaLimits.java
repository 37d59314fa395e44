package dev.annals.access.actions;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.re2j.Pattern;
import dev.annals.kernel.http.FieldError;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import org.jspecify.annotations.Nullable;

/**
 * The limits of a schema. References are to {@code $defs} of the schema itself and make no circle, so a schema has a size: the number of
 * its subschemas, of their further keywords, of the names and values that these list, and of the instructions of its patterns, each as
 * often as references repeat it. The time of a check is at most proportional to this size and the length of the metadata.
 */
final class SchemaLimits {

    static final int MAX_BYTES = 8_192;
    static final int MAX_SIZE = 1_000;
    static final int MAX_DEPTH = 16;
    private static final int MAX_PATTERN = 256;
    /** The product of the counts in a pattern. Each repeats instructions. */
    private static final int MAX_REPEATS = 256;

    /** Each may be tried at every character of a text. */
    private static final int COST_OF_INSTRUCTION = 2;
    /** A division of numbers of hundreds of digits. */
    private static final int COST_OF_MULTIPLE = 8;
    /** Elements whose hashes are equal are compared with one another. */
    private static final int COST_OF_UNIQUE = 64;

    private static final int MAX_NUMBER = 40;
    private static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";
    private static final String REF = "#/$defs/";
    private static final java.util.regex.Pattern COUNT =
            java.util.regex.Pattern.compile("\\{(\\d{1,9})(?:,(\\d{0,9}))?}");

    private enum Kind {
        ANNOTATION,
        VALUE,
        DIALECT,
        SCHEMA,
        SCHEMAS,
        NAMED_SCHEMAS,
        PATTERN,
        PATTERN_SCHEMAS,
        REFERENCE,
        DEFINITIONS
    }

    private static final Map<String, Kind> KEYWORDS = keywords();

    private final JsonNode root;
    private final Map<String, Integer> sizes = new HashMap<>();
    private final Set<String> open = new HashSet<>();

    private SchemaLimits(JsonNode root) {
        this.root = root;
    }

    /** Why a schema is not taken; null if it is. */
    static @Nullable FieldError check(JsonNode schema) {
        if (!schema.isObject()) {
            return new FieldError("", "It must be a JSON Schema, which is an object.");
        }
        try {
            requireStorable(schema, "", 0);
            if (schema.toString().length() > MAX_BYTES) {
                throw new Beyond("", "It may have " + MAX_BYTES + " characters.");
            }
            SchemaLimits limits = new SchemaLimits(schema);
            // Definitions without a reference count, too.
            schema.path("$defs").fieldNames().forEachRemaining(name -> limits.definition(name, "/$defs"));
            limits.size(schema, "");
            return null;
        } catch (Beyond e) {
            return new FieldError(e.pointer, e.detail);
        }
    }

    /** The size of a schema that was checked. */
    static int size(JsonNode schema) {
        return new SchemaLimits(schema).size(schema, "");
    }

    private static final class Beyond extends RuntimeException {
        private static final long serialVersionUID = 1L;

        final String pointer;
        final String detail;

        Beyond(String pointer, String detail) {
            super(detail, null, false, false);
            this.pointer = pointer;
            this.detail = detail;
        }
    }

    private static void requireStorable(JsonNode value, String pointer, int depth) {
        if (depth > MAX_DEPTH) {
            throw new Beyond(pointer, "It is nested more than " + MAX_DEPTH + " levels deep.");
        }
        if (value.isNumber() && (value.asText().length() > MAX_NUMBER || !Double.isFinite(value.doubleValue()))) {
            throw new Beyond(pointer, "It is a number that is too long, or too large.");
        }
        if (value.isTextual()) {
            requireStorable(value.textValue(), pointer);
        }
        if (value.isObject()) {
            value.properties().forEach(field -> {
                requireStorable(field.getKey(), pointer);
                requireStorable(field.getValue(), pointer + "/" + escaped(field.getKey()), depth + 1);
            });
        } else {
            for (int i = 0; i < value.size(); i++) {
                requireStorable(value.get(i), pointer + "/" + i, depth + 1);
            }
        }
    }

    /** PostgreSQL cannot store these. */
    private static void requireStorable(String text, String pointer) {
        if (text.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            throw new Beyond(pointer, "It has a NUL character or half a surrogate pair.");
        }
    }

    private static String escaped(String name) {
        return name.replace("~", "~0").replace("/", "~1");
    }

    private int size(JsonNode schema, String pointer) {
        if (!schema.isObject()) {
            return 1;
        }
        int size = 1;
        int values = 0;
        for (Map.Entry<String, JsonNode> field : schema.properties()) {
            int more = sizeOf(field.getKey(), field.getValue(), pointer + "/" + escaped(field.getKey()));
            if (KEYWORDS.get(field.getKey()) == Kind.VALUE) {
                values = sum(values, more, pointer);
            } else {
                size = sum(size, more, pointer);
            }
        }
        // The subschema counts as its first keyword.
        return sum(size, Math.max(0, values - 1), pointer);
    }

    private int sum(int one, int other, String pointer) {
        if (one + other > MAX_SIZE) {
            throw new Beyond(
                    pointer,
                    "It is too large: its subschemas, keywords, listed names and values, and the instructions of its patterns"
                            + " (twice), may be " + MAX_SIZE + " together, each counted as often as $ref repeats it;"
                            + " multipleOf counts " + COST_OF_MULTIPLE + ", uniqueItems " + COST_OF_UNIQUE + ".");
        }
        return one + other;
    }

    private int sizeOf(String keyword, JsonNode value, String pointer) {
        Kind kind = KEYWORDS.get(keyword);
        if (kind == null) {
            throw new Beyond(pointer, "It is none of the keywords that are taken here.");
        }
        return switch (kind) {
            case ANNOTATION -> 0;
            case VALUE ->
                switch (keyword) {
                    case "type" -> 1;
                    case "multipleOf" -> COST_OF_MULTIPLE;
                    case "uniqueItems" -> COST_OF_UNIQUE;
                    default -> values(value);
                };
            case DIALECT -> {
                if (!value.asText().equals(DIALECT)) {
                    throw new Beyond(pointer, "Schemas are those of " + DIALECT + ".");
                }
                yield 0;
            }
            case SCHEMA -> size(value, pointer);
            case SCHEMAS -> {
                int size = 0;
                for (int i = 0; i < value.size(); i++) {
                    size = sum(size, size(value.get(i), pointer + "/" + i), pointer);
                }
                yield size;
            }
            case NAMED_SCHEMAS, PATTERN_SCHEMAS -> {
                int size = 0;
                for (Map.Entry<String, JsonNode> field : value.properties()) {
                    String at = pointer + "/" + escaped(field.getKey());
                    size = sum(size, size(field.getValue(), at), at);
                    size = sum(size, kind == Kind.PATTERN_SCHEMAS ? instructions(field.getKey(), at) : 0, at);
                }
                yield size;
            }
            case PATTERN -> instructions(value.asText(), pointer);
            case REFERENCE -> reference(value, pointer);
            case DEFINITIONS -> {
                if (!pointer.equals("/$defs")) {
                    throw new Beyond(pointer, "Definitions are taken at the top of the schema only.");
                }
                yield 0;
            }
        };
    }

    /** The number of values, or of names, in a value. */
    private static int values(JsonNode value) {
        int values = value.isContainerNode() ? value.size() : 1;
        for (JsonNode part : value) {
            values += part.isContainerNode() ? values(part) : 0;
        }
        return values;
    }

    private int reference(JsonNode value, String pointer) {
        String ref = value.asText();
        if (!value.isTextual() || !ref.matches("#/\\$defs/[A-Za-z0-9._-]+")) {
            throw new Beyond(
                    pointer, "It must be \"" + REF + "…\", with a name of letters, digits, \".\", \"_\" and \"-\".");
        }
        return definition(ref.substring(REF.length()), pointer);
    }

    private int definition(String name, String pointer) {
        Integer known = sizes.get(name);
        if (known != null) {
            return known;
        }
        JsonNode definition = root.path("$defs").get(name);
        if (definition == null) {
            throw new Beyond(pointer, "There is no such definition.");
        }
        if (!open.add(name)) {
            throw new Beyond(pointer, "References must not make a circle.");
        }
        int size = size(definition, "/$defs/" + escaped(name));
        open.remove(name);
        sizes.put(name, size);
        return size;
    }

    private int instructions(String pattern, String pointer) {
        if (pattern.length() > MAX_PATTERN) {
            throw new Beyond(pointer, "The pattern may have " + MAX_PATTERN + " characters.");
        }
        long repeats = 1;
        Matcher count = COUNT.matcher(pattern);
        while (count.find() && repeats <= MAX_REPEATS) {
            String most = count.group(2) == null || count.group(2).isEmpty() ? count.group(1) : count.group(2);
            repeats *= Math.max(1, Long.parseLong(most));
        }
        if (repeats > MAX_REPEATS) {
            throw new Beyond(pointer, "The counts in the pattern may multiply to " + MAX_REPEATS + ".");
        }
        return COST_OF_INSTRUCTION * Pattern.compile(pattern).programSize();
    }

    private static Map<String, Kind> keywords() {
        Map<String, Kind> kinds = new HashMap<>();
        put(
                kinds,
                Kind.ANNOTATION,
                "$comment title description default examples deprecated readOnly writeOnly format contentEncoding"
                        + " contentMediaType");
        put(
                kinds,
                Kind.VALUE,
                "type enum const required minProperties maxProperties minItems maxItems"
                        + " uniqueItems minContains maxContains minLength maxLength minimum maximum exclusiveMinimum"
                        + " exclusiveMaximum multipleOf dependentRequired");
        put(kinds, Kind.DIALECT, "$schema");
        put(kinds, Kind.SCHEMA, "additionalProperties propertyNames items contains not if then else");
        put(kinds, Kind.SCHEMAS, "prefixItems allOf anyOf oneOf");
        put(kinds, Kind.NAMED_SCHEMAS, "properties dependentSchemas");
        put(kinds, Kind.PATTERN, "pattern");
        put(kinds, Kind.PATTERN_SCHEMAS, "patternProperties");
        put(kinds, Kind.REFERENCE, "$ref");
        put(kinds, Kind.DEFINITIONS, "$defs");
        return Map.copyOf(kinds);
    }

    private static void put(Map<String, Kind> kinds, Kind kind, String names) {
        for (String name : names.split(" ", -1)) {
            kinds.put(name, kind);
        }
    }
}
