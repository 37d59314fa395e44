package dev.annals.core.record;

import java.time.OffsetDateTime;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a client says happened. It never changes once it is stored, except that fields may be redacted.
 *
 * @param id unique in its project
 * @param idAssigned whether the service drew the id because the client sent none; if so, only an earlier attempt of the same
 *     request can have stored it
 * @param action what was done, such as {@code volume_create}; 1 to 255 characters
 * @param actor who did it
 * @param subject what it was done to
 * @param outcome such as {@code success}; 1 to 64 characters
 * @param ipAddress where the actor was, in the text form of PostgreSQL's {@code inet}
 * @param message for people; up to 65,535 bytes
 * @param timestamp when it happened: UTC, whole microseconds, years 0001 to 9999
 * @param timestampAssigned whether the service set the timestamp because the client sent none
 * @param metadata the JSON text of an object that is not empty, or null
 * @param numberSequence the sequence that the record takes its number from, if it wants one; its name
 * @param isEvent whether it came as a CloudEvent, which attributes that were added on the way do not make another one
 */
public record AuditRecord(
        UUID id,
        boolean idAssigned,
        String action,
        @Nullable Party actor,
        @Nullable Party subject,
        @Nullable String outcome,
        @Nullable String ipAddress,
        @Nullable String message,
        OffsetDateTime timestamp,
        boolean timestampAssigned,
        @Nullable String metadata,
        @Nullable String numberSequence,
        boolean isEvent) {

    /** With what the actions begin that only the database records: what was done to records themselves. */
    public static final String RESERVED = "annals.";

    /** A record with an id from its client, and without a number. */
    public AuditRecord(
            UUID id,
            String action,
            @Nullable Party actor,
            @Nullable Party subject,
            @Nullable String outcome,
            @Nullable String ipAddress,
            @Nullable String message,
            OffsetDateTime timestamp,
            boolean timestampAssigned,
            @Nullable String metadata) {
        this(
                id,
                false,
                action,
                actor,
                subject,
                outcome,
                ipAddress,
                message,
                timestamp,
                timestampAssigned,
                metadata,
                null);
    }

    /** A record that did not come as a CloudEvent. */
    public AuditRecord(
            UUID id,
            boolean idAssigned,
            String action,
            @Nullable Party actor,
            @Nullable Party subject,
            @Nullable String outcome,
            @Nullable String ipAddress,
            @Nullable String message,
            OffsetDateTime timestamp,
            boolean timestampAssigned,
            @Nullable String metadata,
            @Nullable String numberSequence) {
        this(
                id,
                idAssigned,
                action,
                actor,
                subject,
                outcome,
                ipAddress,
                message,
                timestamp,
                timestampAssigned,
                metadata,
                numberSequence,
                false);
    }

    /** This record as one that came as a CloudEvent. */
    public AuditRecord asEvent() {
        Draft draft = new Draft(this);
        draft.isEvent = true;
        return draft.record();
    }

    /** This record with another id drawn by the service. */
    public AuditRecord withId(UUID drawn) {
        Draft draft = new Draft(this);
        draft.id = drawn;
        draft.idAssigned = true;
        return draft.record();
    }

    /** This record with another message and other metadata. */
    public AuditRecord withTexts(@Nullable String otherMessage, @Nullable String otherMetadata) {
        Draft draft = new Draft(this);
        draft.message = otherMessage;
        draft.metadata = otherMetadata;
        return draft.record();
    }

    /** This record without some of its fields, by the names that docs/leaf-format.md gives them. */
    AuditRecord without(Set<String> fields) {
        Draft draft = new Draft(this);
        draft.actor = without("actor.", actor, fields);
        draft.subject = without("subject.", subject, fields);
        draft.outcome = fields.contains("outcome") ? null : outcome;
        draft.ipAddress = fields.contains("ip_address") ? null : ipAddress;
        draft.message = fields.contains("message") ? null : message;
        draft.metadata = fields.contains("metadata") ? null : metadata;
        return draft.record();
    }

    private static @Nullable Party without(String prefix, @Nullable Party party, Set<String> fields) {
        if (party == null) {
            return null;
        }
        Party left = new Party(
                fields.contains(prefix + "type") ? null : party.type(),
                fields.contains(prefix + "id") ? null : party.id(),
                fields.contains(prefix + "name") ? null : party.name());
        return left.type() == null && left.id() == null && left.name() == null ? null : left;
    }

    /**
     * Whether this record, as a client sent it, has the same content as {@code stored}, and so is a retry of it. A timestamp
     * that the client did not send makes no difference, unless it sent no id either: then the retry is the service's own, and
     * has the timestamp too. Metadata is compared as JSON values: white space, the order of keys and the spelling of a number
     * do not count, and an empty object equals none. Of a CloudEvent's attributes in it, only the event's own count.
     */
    public boolean sameContentAs(AuditRecord stored) {
        return id.equals(stored.id)
                && action.equals(stored.action)
                && Objects.equals(actor, stored.actor)
                && Objects.equals(subject, stored.subject)
                && Objects.equals(outcome, stored.outcome)
                && Objects.equals(ipAddress, stored.ipAddress)
                && Objects.equals(message, stored.message)
                && ((timestampAssigned && !idAssigned) || timestamp.isEqual(stored.timestamp))
                && Objects.equals(numberSequence, stored.numberSequence)
                && (isEvent
                        ? JsonValues.sameEvent(metadata, stored.metadata)
                        : JsonValues.sameObject(metadata, stored.metadata));
    }

    /** What is known about a record so far. */
    static final class Draft {
        UUID id;
        boolean idAssigned;
        String action;

        @Nullable
        Party actor;

        @Nullable
        Party subject;

        @Nullable
        String outcome;

        @Nullable
        String ipAddress;

        @Nullable
        String message;

        OffsetDateTime timestamp;
        boolean timestampAssigned;

        @Nullable
        String metadata;

        @Nullable
        String numberSequence;

        boolean isEvent;

        /** A record that has only what none lacks. */
        Draft(UUID id, String action, OffsetDateTime timestamp) {
            this.id = id;
            this.action = action;
            this.timestamp = timestamp;
        }

        /** A copy. */
        Draft(AuditRecord record) {
            this(record.id, record.action, record.timestamp);
            idAssigned = record.idAssigned;
            actor = record.actor;
            subject = record.subject;
            outcome = record.outcome;
            ipAddress = record.ipAddress;
            message = record.message;
            timestampAssigned = record.timestampAssigned;
            metadata = record.metadata;
            numberSequence = record.numberSequence;
            isEvent = record.isEvent;
        }

        AuditRecord record() {
            return new AuditRecord(
                    id,
                    idAssigned,
                    action,
                    actor,
                    subject,
                    outcome,
                    ipAddress,
                    message,
                    timestamp,
                    timestampAssigned,
                    metadata,
                    numberSequence,
                    isEvent);
        }
    }
}
