package dev.annals.writer;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

/**
 * One entry of the audit log. Immutable: the JSON is written when the record is built.
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

    /**
     * Begins a record of this action.
     *
     * @param action a constant name of your choice, such as {@code volume_create}
     */
    public static Builder of(String action) {
        return new Builder(action);
    }

    /** Null unless the application has chosen one. */
    UUID id() {
        return id;
    }

    /** At most {@link Entry#MAX_BYTES}. The id comes first, because a spool reads it there. */
    String json(UUID withId, Instant now) {
        Instant time = timestamp == null ? now : timestamp;
        return "{\"id\":\"" + withId + "\",\"timestamp\":\"" + time.truncatedTo(ChronoUnit.MICROS) + "\"," + fields
                + "}";
    }

    /**
     * The fields of a record. Only the action is required; a null leaves a field out. The service accepts the record for any values: a
     * value that it would refuse is cut, replaced, or moved into the metadata.
     */
    public static final class Builder {
        /** The id, the time, and the names of message and metadata. */
        private static final int FRAME_BYTES = 120;

        private static final int MAX_ACTION = 255;
        private static final int MAX_OUTCOME = 64;
        private static final int MAX_TYPE = 255;
        private static final int MAX_TEXT = 1_024;
        private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
        private static final Instant END = Instant.parse("9999-12-31T23:59:59.999999999Z");

        private final Map<String, String> fields = new LinkedHashMap<>();
        /** Values that do not fit their fields. They become metadata. */
        private final Map<String, String> misfits = new LinkedHashMap<>();

        private String message;
        private Map<String, ?> metadata = Map.of();
        private UUID id;
        private Instant timestamp;

        private Builder(String action) {
            String name = Objects.requireNonNull(action, "action");
            text("action", name.isEmpty() ? "(none)" : name, MAX_ACTION);
        }

        /** Without an id, the client draws one; two records with the same id are one record. */
        public Builder id(UUID id) {
            this.id = id;
            return this;
        }

        /** The person or program that acted. */
        public Builder actor(String type, String id, String name) {
            return party("actor", type, id, name);
        }

        /** The object that was acted upon. */
        public Builder subject(String type, String id, String name) {
            return party("subject", type, id, name);
        }

        /** Such as {@code success}, {@code failure} or {@code denied}. */
        public Builder outcome(String outcome) {
            return text("outcome", outcome == null || outcome.isEmpty() ? null : outcome, MAX_OUTCOME);
        }

        /** The actor's IPv4 or IPv6 address. A port or zone is left out. A text that is no address becomes metadata. */
        public Builder ipAddress(String address) {
            String bare = address == null ? null : Address.in(address);
            return fitting("ip_address", bare, address == null || address.isEmpty() ? null : address);
        }

        /** A sentence for people. */
        public Builder message(String message) {
            this.message = message;
            return this;
        }

        /** By default the time of the append. */
        public Builder timestamp(Instant timestamp) {
            boolean fits = timestamp == null || !(timestamp.isBefore(FIRST) || timestamp.isAfter(END));
            this.timestamp = fits ? timestamp : null;
            return fitting("timestamp", null, fits ? null : timestamp.toString());
        }

        /** Any other values, read by {@link #build}. docs/clients.md has a table of the conversions. */
        public Builder metadata(Map<String, ?> metadata) {
            this.metadata = metadata == null ? Map.of() : metadata;
            return this;
        }

        /** Requests a number of this sequence, which is stored together with the record. */
        public Builder number(String sequence) {
            boolean fits = sequence != null && sequence.matches("[A-Za-z0-9._-]{1,128}");
            fitting("number", null, fits ? null : sequence);
            return field("number", fits ? "{\"sequence\":\"" + sequence + "\"}" : null);
        }

        public AuditRecord build() {
            StringBuilder json = new StringBuilder();
            fields.forEach((name, value) -> append(json, name, value));
            int room = Entry.MAX_STORED - FRAME_BYTES - Json.stored(json.toString());
            String text = message == null ? "" : Json.string(message, room);
            // If both do not fit, each gets half of the room.
            int forText = Math.min(Json.stored(text), room / 2);
            String more = Json.object(given(), metadata, room - forText);
            int left = more == null ? room : room - Json.stored(more);
            append(json, "message", message == null ? null : Json.string(message, left));
            append(json, "metadata", more);
            return new AuditRecord(id, timestamp, json.toString());
        }

        /** The misfits by names that the metadata does not have. */
        private Map<String, String> given() {
            Map<String, String> given = new LinkedHashMap<>();
            misfits.forEach((name, value) -> given.put(isTaken(name) ? name + " (given)" : name, value));
            return given;
        }

        private boolean isTaken(String name) {
            try {
                return metadata.containsKey(name);
            } catch (RuntimeException e) {
                return true;
            }
        }

        private static void append(StringBuilder json, String name, String value) {
            if (value != null) {
                json.append(json.length() == 0 ? "\"" : ",\"")
                        .append(name)
                        .append("\":")
                        .append(value);
            }
        }

        private Builder field(String name, String json) {
            fields.remove(name);
            if (json != null) {
                fields.put(name, json);
            }
            return this;
        }

        private Builder text(String name, String value, int maxCharacters) {
            return field(name, quoted(value, maxCharacters));
        }

        private static String quoted(String value, int maxCharacters) {
            return value == null ? null : Json.string(Json.fit(value, maxCharacters), Integer.MAX_VALUE);
        }

        /** Moves a value that does not fit to the metadata. */
        private Builder fitting(String name, String fit, String given) {
            misfits.remove(name);
            if (fit == null && given != null) {
                misfits.put(name, Json.fit(given, MAX_TEXT));
            }
            return text(name, fit, MAX_TEXT);
        }

        private Builder party(String name, String type, String partyId, String partyName) {
            StringBuilder json = new StringBuilder();
            append(json, "type", quoted(type, MAX_TYPE));
            append(json, "id", quoted(partyId, MAX_TEXT));
            append(json, "name", quoted(partyName, MAX_TEXT));
            return field(name, json.length() == 0 ? null : "{" + json + "}");
        }
    }
}
