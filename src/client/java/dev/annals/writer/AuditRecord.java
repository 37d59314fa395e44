package dev.annals.writer;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

/**
 * One entry of the audit log, as the application says it. It never changes: its JSON is written as it is built.
 *
 * <pre>{@code
 * AuditRecord.of("volume_create").actor("user", "u-19283", "Jane").outcome("success").build()
 * }</pre>
 */
public final class AuditRecord {

    private final UUID id;
    private final Instant timestamp;
    private final String fields;

    private AuditRecord(UUID id, Instant timestamp, String fields) {
        this.id = id;
        this.timestamp = timestamp;
        this.fields = fields;
    }

    /** Begins a record of this action, which is a word of your choice that stays the same, such as {@code volume_create}. */
    public static Builder of(String action) {
        return new Builder(action);
    }

    /** Its id, if the application has chosen one. */
    UUID id() {
        return id;
    }

    /** All of it, the id first: a spool is read back by that. */
    String json(UUID withId, Instant now) {
        Instant time = timestamp == null ? now : timestamp;
        return "{\"id\":\"" + withId + "\",\"timestamp\":\"" + time.truncatedTo(ChronoUnit.MICROS) + "\"," + fields
                + "}";
    }

    /** What a record consists of. Only the action is required; a null leaves a field out. */
    public static final class Builder {
        private final StringBuilder fields = new StringBuilder();
        private UUID id;
        private Instant timestamp;

        private Builder(String action) {
            Json.field(fields, "action", Objects.requireNonNull(action, "action"));
        }

        /** The record's own id. Without one, the client draws one; two records with the same id are one record. */
        public Builder id(UUID id) {
            this.id = id;
            return this;
        }

        /** Who did it. */
        public Builder actor(String type, String id, String name) {
            return party("actor", type, id, name);
        }

        /** What it was done to. */
        public Builder subject(String type, String id, String name) {
            return party("subject", type, id, name);
        }

        /** How it ended, such as {@code success}, {@code failure} or {@code denied}. */
        public Builder outcome(String outcome) {
            return text("outcome", outcome);
        }

        /** The address the actor came from, IPv4 or IPv6. */
        public Builder ipAddress(String address) {
            return text("ip_address", address);
        }

        /** The record in words, for people. */
        public Builder message(String message) {
            return text("message", message);
        }

        /** When it happened; without it, the moment of the append. */
        public Builder timestamp(Instant timestamp) {
            this.timestamp = timestamp;
            return this;
        }

        /** Anything else: texts, numbers, booleans, nulls, and maps, iterables and arrays of them. */
        public Builder metadata(Map<String, ?> metadata) {
            if (metadata != null) {
                Json.object(fields, "metadata", metadata);
            }
            return this;
        }

        /** Asks for a number of this sequence, which is stored together with the record. */
        public Builder number(String sequence) {
            if (sequence != null) {
                Json.object(fields, "number", Map.of("sequence", sequence));
            }
            return this;
        }

        /** The record. */
        public AuditRecord build() {
            return new AuditRecord(id, timestamp, fields.toString());
        }

        private Builder text(String name, String value) {
            if (value != null) {
                Json.field(fields, name, value);
            }
            return this;
        }

        private Builder party(String name, String type, String partyId, String partyName) {
            if (type != null || partyId != null || partyName != null) {
                fields.append(",\"").append(name).append("\":{");
                text("type", type).text("id", partyId).text("name", partyName);
                fields.append('}');
            }
            return this;
        }
    }
}
