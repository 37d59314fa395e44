package dev.annals.access.actions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.regex.RegularExpression;
import dev.annals.kernel.http.FieldError;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A JSON Schema (draft 2020-12) of an action's metadata. {@link SchemaLimits} bounds the time of a check. Nothing is fetched, and patterns
 * are RE2's, which take linear time.
 */
final class MetadataSchema {

    private static final int MAX_DETAIL = 300;
    /** The most checks of a value by a subschema, which take a second. */
    private static final long MAX_STEPS = 400_000;
    /** Few values are shorter. */
    private static final int CHARACTERS_PER_VALUE = 8;

    private static final ObjectMapper JSON = new ObjectMapper();

    private static final SchemaRegistry SCHEMAS = SchemaRegistry.withDialect(
            Dialects.getDraft202012(),
            registry -> registry.schemaCacheEnabled(false)
                    .schemaRegistryConfig(SchemaRegistryConfig.builder()
                            .failFast(true)
                            .locale(Locale.ROOT)
                            .regularExpressionFactory(MetadataSchema::expression)
                            .build()));

    private static final Schema OF_SCHEMAS =
            SCHEMAS.getSchema(SchemaLocation.of(Dialects.getDraft202012().getId()));

    private final String text;
    private volatile @Nullable Compiled compiled;

    private record Compiled(Schema schema, int size) {}

    /** @param text is checked before it is stored */
    MetadataSchema(String text) {
        this.text = text;
    }

    private static RegularExpression expression(String regex) {
        Pattern pattern = Pattern.compile(regex);
        return value -> pattern.matcher(value).find();
    }

    String text() {
        return text;
    }

    /**
     * Checks a schema before it is stored.
     *
     * @return null if it can be used
     */
    static @Nullable FieldError wrong(JsonNode schema) {
        try {
            FieldError beyond = SchemaLimits.check(schema);
            return beyond == null ? first(OF_SCHEMAS, schema) : beyond;
        } catch (PatternSyntaxException e) {
            return new FieldError("", "It has a pattern that RE2 does not take: " + shown(e.getMessage()));
        }
    }

    private static @Nullable FieldError first(Schema schema, JsonNode value) {
        List<Error> errors = schema.validate(value);
        return errors.isEmpty()
                ? null
                : new FieldError(
                        errors.get(0).getInstanceLocation().toString(),
                        shown(errors.get(0).getMessage()));
    }

    private static String shown(@Nullable String detail) {
        String text = detail == null ? "" : detail;
        return text.length() <= MAX_DETAIL ? text : text.substring(0, text.offsetByCodePoints(0, MAX_DETAIL / 2)) + "…";
    }

    long steps(@Nullable String metadata) {
        return (long) compiled().size() * (1 + (metadata == null ? 0 : metadata.length() / CHARACTERS_PER_VALUE));
    }

    /** The first value that does not fit, with a pointer into the record; null if all fit. */
    @Nullable
    FieldError misfit(@Nullable String metadata) {
        try {
            JsonNode value = metadata == null ? JsonNodeFactory.instance.objectNode() : JSON.readTree(metadata);
            if (compiled().size() * values(value) > MAX_STEPS) {
                return new FieldError("/metadata", "has too many values for the schema of its action");
            }
            FieldError wrong = first(compiled().schema(), value);
            return wrong == null ? null : new FieldError("/metadata" + wrong.pointer(), wrong.detail());
        } catch (JsonProcessingException e) {
            return new FieldError("/metadata", "cannot be compared with the schema of its action");
        }
    }

    private static long values(JsonNode value) {
        long values = 1;
        for (JsonNode part : value) {
            values += values(part);
        }
        return values;
    }

    private Compiled compiled() {
        Compiled known = compiled;
        if (known == null) {
            try {
                JsonNode node = JSON.readTree(text);
                known = new Compiled(SCHEMAS.getSchema(node), SchemaLimits.size(node));
                compiled = known;
            } catch (JsonProcessingException e) {
                throw new IllegalStateException("a stored schema is no JSON", e);
            }
        }
        return known;
    }
}
