package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.kernel.http.JsonBody;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record at its place in the feed.
 *
 * @param sequenceId 1, 2, 3 … in its project, in commit order
 * @param numberValue a value of the sequence that the record names; null if it names none
 * @param recordedBy the writer, from {@link #byToken} or {@link #byRole}; null only if the schema's owner stored neither
 * @param redaction null if no field was redacted
 */
public record StoredRecord(
        AuditRecord record,
        long sequenceId,
        OffsetDateTime recordedAt,
        @Nullable Long numberValue,
        @Nullable String recordedBy,
        @Nullable Redaction redaction) {

    public StoredRecord(
            AuditRecord record,
            long sequenceId,
            OffsetDateTime recordedAt,
            @Nullable Long numberValue,
            @Nullable String recordedBy) {
        this(record, sequenceId, recordedAt, numberValue, recordedBy, null);
    }

    public StoredRecord(AuditRecord record, long sequenceId, OffsetDateTime recordedAt, @Nullable String recordedBy) {
        this(record, sequenceId, recordedAt, null, recordedBy);
    }

    /** The ids of identities are UUIDs of version 8. */
    public static String byToken(UUID id) {
        return (id.version() == 8 ? "identity:" : "token:") + id;
    }

    /** The writer of records that were inserted by plain SQL. */
    public static String byRole(String role) {
        return "role:" + role;
    }

    /**
     * Whether a record, as a client sends it, is this one, by {@link AuditRecord#sameContentAs}. Redacted fields are not
     * compared.
     */
    public boolean isSentAs(AuditRecord sent) {
        return (redaction == null ? sent : sent.without(redaction.digests().keySet())).sameContentAs(record);
    }

    public StoredRecord withoutRedaction() {
        return new StoredRecord(record, sequenceId, recordedAt, numberValue, recordedBy);
    }

    /** Leaves the id and the times. */
    public StoredRecord withoutContent() {
        AuditRecord empty =
                new AuditRecord(record.id(), "", null, null, null, null, null, record.timestamp(), false, null);
        return new StoredRecord(empty, sequenceId, recordedAt, null, recordedBy);
    }

    public StoredRecord at(long place) {
        return new StoredRecord(record, place, recordedAt, numberValue, recordedBy, redaction);
    }

    /**
     * Proves a redacted record. Fields have their names in docs/leaf-format.md, such as {@code actor.name}.
     *
     * @param salts of the fields that are left
     * @param digests of the fields that were redacted
     */
    public record Redaction(SortedMap<String, String> salts, SortedMap<String, String> digests) {

        /**
         * Reads an object with the members {@code salts} and {@code redacted}, each an object of strings.
         *
         * @throws IllegalArgumentException if it is anything else
         */
        public static Redaction parse(String stored) {
            SortedMap<String, String> salts = new TreeMap<>();
            SortedMap<String, String> digests = new TreeMap<>();
            try (JsonParser json = JsonText.JSON.createParser(stored)) {
                require(json.nextToken() == JsonToken.START_OBJECT);
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    require(name.equals("salts") || name.equals("redacted"));
                    members(json, name.equals("salts") ? salts : digests);
                }
            } catch (IOException e) {
                throw new IllegalArgumentException("this is no redaction", e);
            }
            return new Redaction(salts, digests);
        }

        private static void members(JsonParser json, SortedMap<String, String> into) throws IOException {
            require(json.nextToken() == JsonToken.START_OBJECT);
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                require(json.nextToken() == JsonToken.VALUE_STRING);
                into.put(name, json.getText());
            }
        }

        private static void require(boolean expected) {
            if (!expected) {
                throw new IllegalArgumentException("this is no redaction");
            }
        }

        /** Writes the member {@code redacted} into an open object. */
        public void write(JsonGenerator json) throws IOException {
            write("redacted", digests, json);
        }

        public String digestsAsJson() {
            byte[] json = JsonBody.toBytes(128, out -> {
                out.writeStartObject();
                for (Map.Entry<String, String> digest : digests.entrySet()) {
                    out.writeStringField(digest.getKey(), digest.getValue());
                }
                out.writeEndObject();
            });
            return new String(json, StandardCharsets.UTF_8);
        }

        /** Writes the member {@code salts} into an open object. */
        public void writeSalts(JsonGenerator json) throws IOException {
            write("salts", salts, json);
        }

        private static void write(String name, SortedMap<String, String> members, JsonGenerator json)
                throws IOException {
            json.writeObjectFieldStart(name);
            for (Map.Entry<String, String> member : members.entrySet()) {
                json.writeStringField(member.getKey(), member.getValue());
            }
            json.writeEndObject();
        }
    }
}
