package dev.annals.access.actions;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestFields;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A change of a catalogue.
 *
 * @param unknownActions null for no change
 * @param illFormedMetadata null for no change
 * @param actions a JSON array of rows of {@code annals.catalogue_action}
 */
record CatalogueRequest(
        @Nullable String unknownActions, @Nullable String illFormedMetadata, String actions) {

    static final int MAX_ACTIONS = 1_000;
    /** Together, as the database writes them. */
    static final int MAX_SCHEMA_BYTES = 524_288;
    /** The body of a whole catalogue. */
    static final int MAX_BODY_BYTES = 1_048_576;

    static final int MAX_NAME = 255;
    /** The classes for which the export writes the required attributes. */
    static final Set<Integer> OCSF_CLASSES = Set.of(1001, 3001, 3002, 3003, 3005, 3006, 6001, 6003, 6005);

    private static final Set<String> OF_ACTION =
            Set.of("title", "description", "category", "severity", "ocsf_class", "metadata_schema");
    private static final Set<String> OF_NAMED_ACTION = named();

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static CatalogueRequest readWhole(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("unknown_actions", "ill_formed_metadata", "actions"));
        String unknown = policy(fields, "unknown_actions");
        String illFormed = policy(fields, "ill_formed_metadata");
        Set<String> names = new HashSet<>();
        List<RequestFields> actions = fields.objects("actions", MAX_ACTIONS, OF_NAMED_ACTION);
        JsonBody.Content rows = json -> {
            json.writeStartArray();
            for (RequestFields action : actions) {
                String name = action.text("name", MAX_NAME, true);
                if (!names.add(name == null ? "" : name)) {
                    action.wrong("name", "It is the name of two actions.");
                }
                write(action, name == null ? "" : name, json);
            }
            json.writeEndArray();
        };
        String text = new String(JsonBody.toBytes(body.length, rows), StandardCharsets.UTF_8);
        fields.requireValid();
        return new CatalogueRequest(unknown, illFormed, text);
    }

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static CatalogueRequest readAction(String name, byte[] body) {
        RequestFields fields = new RequestFields(body, OF_ACTION);
        String text = new String(
                JsonBody.toBytes(body.length, json -> {
                    json.writeStartArray();
                    write(fields, name, json);
                    json.writeEndArray();
                }),
                StandardCharsets.UTF_8);
        fields.requireValid();
        return new CatalogueRequest(null, null, text);
    }

    private static Set<String> named() {
        Set<String> all = new HashSet<>(OF_ACTION);
        all.add("name");
        return Set.copyOf(all);
    }

    /** A whole catalogue sets both policies. */
    private static String policy(RequestFields fields, String name) {
        Catalogue.Policy policy = choice(fields, name, Catalogue.Policy::named);
        return (policy == null ? Catalogue.Policy.ACCEPT : policy).text();
    }

    private static <T> @Nullable T choice(RequestFields fields, String name, Function<String, Optional<T>> named) {
        String text = fields.text(name, 16, false);
        if (text == null) {
            return null;
        }
        T chosen = named.apply(text).orElse(null);
        if (chosen == null) {
            fields.wrong(name, "It is none of the values that openapi.yaml lists.");
        }
        return chosen;
    }

    private static void write(RequestFields fields, String name, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", name);
        json.writeStringField("title", fields.text("title", 255, false));
        json.writeStringField("description", fields.text("description", 1_024, false));
        json.writeStringField("category", fields.text("category", 255, false));
        Catalogue.Severity severity = choice(fields, "severity", Catalogue.Severity::named);
        json.writeStringField("severity", severity == null ? null : severity.text());
        JsonNode ocsfClass = fields.get("ocsf_class");
        if (ocsfClass != null && ocsfClass.isInt() && OCSF_CLASSES.contains(ocsfClass.intValue())) {
            json.writeNumberField("ocsf_class", ocsfClass.intValue());
        } else if (ocsfClass != null) {
            fields.wrong("ocsf_class", "It is none of the values that openapi.yaml lists.");
        }
        JsonNode schema = fields.get("metadata_schema");
        if (schema != null) {
            FieldError wrong = MetadataSchema.wrong(schema);
            if (wrong != null) {
                fields.wrong("metadata_schema" + wrong.pointer(), wrong.detail());
            }
            json.writeFieldName("metadata_schema");
            json.writeRawValue(schema.toString());
        }
        json.writeEndObject();
    }
}
