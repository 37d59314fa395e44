package dev.annals.access.actions;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.kernel.http.FieldError;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The actions of a project, by their names in order.
 *
 * @param version grows with each change; 0 if the project has no catalogue
 */
public record Catalogue(long version, Policy unknownActions, Policy illFormedMetadata, Map<String, Action> actions) {

    /** Accepts any action. */
    public static final Catalogue NONE = new Catalogue(0, Policy.ACCEPT, Policy.ACCEPT, Map.of());

    /** The treatment of records that do not fit. */
    public enum Policy {
        ACCEPT,
        /** Stores them. Answers with records name what does not fit. */
        MARK,
        /** Refuses them, and marks those that were stored otherwise. */
        REFUSE;

        static Optional<Policy> named(String text) {
            return Arrays.stream(values())
                    .filter(policy -> policy.text().equals(text))
                    .findFirst();
        }

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public enum Severity {
        INFORMATIONAL(1),
        LOW(2),
        MEDIUM(3),
        HIGH(4),
        CRITICAL(5),
        FATAL(6);

        private final int id;

        Severity(int id) {
            this.id = id;
        }

        /** In OCSF. */
        public int id() {
            return id;
        }

        static Optional<Severity> named(String text) {
            return Arrays.stream(values())
                    .filter(severity -> severity.text().equals(text))
                    .findFirst();
        }

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * An action of the catalogue.
     *
     * @param ocsfClass a class_uid
     * @param schema of its metadata; null allows any
     */
    public record Action(
            String name,
            @Nullable String title,
            @Nullable String description,
            @Nullable String category,
            @Nullable Severity severity,
            @Nullable Integer ocsfClass,
            @Nullable MetadataSchema schema) {

        static Action of(Row row) {
            String severity = row.getString("severity");
            String schema = row.getString("metadata_schema");
            return new Action(
                    row.getString("name"),
                    row.getString("title"),
                    row.getString("description"),
                    row.getString("category"),
                    severity == null ? null : Severity.named(severity).orElseThrow(),
                    row.getInteger("ocsf_class"),
                    schema == null ? null : new MetadataSchema(schema));
        }

        void write(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("name", name);
            json.writeStringField("title", title);
            json.writeStringField("description", description);
            json.writeStringField("category", category);
            json.writeStringField("severity", severity == null ? null : severity.text());
            if (ocsfClass == null) {
                json.writeNullField("ocsf_class");
            } else {
                json.writeNumberField("ocsf_class", ocsfClass);
            }
            json.writeFieldName("metadata_schema");
            json.writeRawValue(schema == null ? "null" : schema.text());
            json.writeEndObject();
        }
    }

    static Catalogue of(RowSet<Row> rows) {
        Catalogue read = NONE;
        Map<String, Action> actions = new LinkedHashMap<>();
        for (Row row : rows) {
            if (read.version == 0) {
                read = new Catalogue(
                        row.getLong("version"),
                        Policy.named(row.getString("unknown_actions")).orElseThrow(),
                        Policy.named(row.getString("ill_formed_metadata")).orElseThrow(),
                        actions);
            }
            if (row.getString("name") != null) {
                actions.put(row.getString("name"), Action.of(row));
            }
        }
        return read;
    }

    /** About the memory of the texts. */
    int bytes() {
        int bytes = 0;
        for (Action action : actions.values()) {
            bytes += 1_024
                    + 2 * (action.schema == null ? 0 : action.schema.text().length());
        }
        return bytes;
    }

    /** Whether the metadata of an action has to be checked. */
    public boolean hasSchema(String name, Policy least) {
        Action action = actions.get(name);
        return action != null && action.schema != null && illFormedMetadata.compareTo(least) >= 0;
    }

    /** Whether answers with records name those that do not fit. */
    public boolean marks() {
        return unknownActions != Policy.ACCEPT || illFormedMetadata != Policy.ACCEPT;
    }

    /** About the steps of a check, of some microseconds each. */
    public long steps(String name, @Nullable String metadata, Policy least) {
        Action action = actions.get(name);
        return action == null || action.schema == null || illFormedMetadata.compareTo(least) < 0
                ? 1
                : action.schema.steps(metadata);
    }

    /**
     * Compares a record with its action.
     *
     * @param metadata a JSON object; null for an empty one
     * @param least considers only what has this policy, or a stricter one
     * @return null if it fits
     */
    public @Nullable FieldError misfit(String name, @Nullable String metadata, Policy least) {
        Action action = actions.get(name);
        if (action == null) {
            return unknownActions.compareTo(least) < 0
                    ? null
                    : new FieldError("/action", "is not in the project's catalogue of actions");
        }
        return action.schema == null || illFormedMetadata.compareTo(least) < 0 ? null : action.schema.misfit(metadata);
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("unknown_actions", unknownActions.text());
        json.writeStringField("ill_formed_metadata", illFormedMetadata.text());
        json.writeArrayFieldStart("actions");
        for (Action action : actions.values()) {
            action.write(json);
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
