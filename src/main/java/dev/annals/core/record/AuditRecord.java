package dev.annals.core.record;

import java.text.Normalizer;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A record as a client sent it. A stored record never changes, except that fields may be redacted.
 *
 * @param id unique in its project
 * @param idAssigned the service drew the id; then only an earlier attempt of the same request can have stored it
 * @param action 1 to 255 characters
 * @param outcome 1 to 64 characters
 * @param ipAddress in the text form of PostgreSQL's {@code inet}
 * @param message up to 65,535 bytes
 * @param timestamp the time of the action: UTC, whole microseconds, years 0001 to 9999
 * @param timestampAssigned the service set the timestamp
 * @param metadata the JSON text of an object that is not empty
 * @param numberSequence the sequence from which the record gets a number
 * @param isEvent the record was a CloudEvent; attributes that systems on the way added make no difference then
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

    /** The prefix of actions that only the database records, about records themselves. */
    public static final String RESERVED = "annals.";

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
                null,
                false);
    }

    public AuditRecord asEvent() {
        Draft draft = new Draft(this);
        draft.isEvent = true;
        return draft.record();
    }

    public AuditRecord withId(UUID drawn) {
        Draft draft = new Draft(this);
        draft.id = drawn;
        draft.idAssigned = true;
        return draft.record();
    }

    public AuditRecord withTexts(@Nullable String otherMessage, @Nullable String otherMetadata) {
        Draft draft = new Draft(this);
        draft.message = otherMessage;
        draft.metadata = otherMetadata;
        return draft.record();
    }

    /** Fields have their names in docs/leaf-format.md. */
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
     * Whether this record, as a client sent it, is a retry of {@code stored}. A timestamp that the client did not send makes
     * no difference, unless it sent no id either: then the retry is the service's own, and has the same timestamp. Metadata
     * is compared as JSON values, and an empty object equals none. For a CloudEvent, only the attributes of the event itself
     * count.
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
                        ? JsonText.sameEvent(metadata, stored.metadata)
                        : JsonText.sameObject(metadata, stored.metadata));
    }

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

        Draft(UUID id, String action, OffsetDateTime timestamp) {
            this.id = id;
            this.action = action;
            this.timestamp = timestamp;
        }

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

    /**
     * At least one component is not null.
     *
     * @param type up to 255 characters
     * @param id in the client's system; up to 1,024 characters
     * @param name for people; up to 1,024 characters
     */
    public record Party(
            @Nullable String type,
            @Nullable String id,
            @Nullable String name) {}

    /**
     * Finds names that look like the service's own, by a skeleton of similar letters (Unicode Technical Standard 39).
     * {@code annals.skeleton} in the schema has the same tables, for plain SQL writers.
     */
    static final class Confusables {

        private static final Map<Integer, String> LETTERS = letters();

        /** Neither printable ASCII nor a letter of another script. */
        private static final Pattern UNSEEN =
                Pattern.compile("[^!-~\u00C0-\u02AF\u0370-\u0481\u048A-\u058F\u05D0-\u05EA"
                        + "\u0620-\u064A\u0671-\u06D3\u0904-\u0939\u0E01-\u0E30\u10A0-\u115E\u1161-\u11FF\u3041-\u3096\u30A1-\u30FA"
                        + "\u3105-\u312F\u3400-\uA4CF\uD840\uDC00-\uD8BF\uDFFF]");

        private Confusables() {}

        static boolean isReserved(String action) {
            char first = action.charAt(0);
            return (first <= ' ' || first > '~' || first == 'a' || first == 'A')
                    && skeleton(action).startsWith(RESERVED);
        }

        /** Replaces each letter that looks like one of {@code annals.} by that one, and removes what cannot be seen. */
        static String skeleton(String name) {
            StringBuilder letters = new StringBuilder(name.length());
            Normalizer.normalize(name, Normalizer.Form.NFKD)
                    .codePoints()
                    .forEach(c -> letters.append(LETTERS.getOrDefault(c, Character.toString(c))));
            return UNSEEN.matcher(letters).replaceAll("");
        }

        private static Map<Integer, String> letters() {
            Map<Integer, String> letters = new HashMap<>();
            put(
                    letters,
                    "a",
                    "A\u023A\u0251\u0252\u0391\u03B1\u0410\u0430\u13AA\u15C5\u15E9\u1D00\u1D8F\u2376\u237A\u2C65"
                            + "\u2C6D\u2C80\u2C81\uA4EE\uAB30\uAB7A\uD800\uDEA0\uD800\uDF00\uD81B\uDF40\uD833\uDCD6\uD838\uDC30"
                            + "\uD838\uDC51\uD83C\uDD50\uD83C\uDD70\uD83C\uDDE6");
            put(
                    letters,
                    "n",
                    "N\u014A\u014B\u019D\u019E\u0220\u0235\u0272\u0273\u0274\u039D\u03B7\u043F\u0578\u057C\u144E"
                            + "\u1D70\u1D87\u2C9A\u2C9B\uA4E0\uA790\uA791\uA7A4\uA7A5\uD800\uDD8E\uD801\uDD13\uD833\uDCE3"
                            + "\uD838\uDC3D\uD838\uDC5D\uD83C\uDD5D\uD83C\uDD7D\uD83C\uDDF3");
            put(
                    letters,
                    "l",
                    "1IL|\u0131\u0141\u0142\u0196\u0197\u019A\u01C0\u0234\u023D\u026B\u026C\u026D\u029F\u0399\u0406"
                            + "\u04C0\u04CF\u05C0\u05D5\u05DF\u0627\u0661\u06F1\u07CA\u13DE\u14AA\u16C1\u18F3\u1D0C\u1D85\u2223"
                            + "\u23AE\u23D0\u23FD\u2502\u2503\u2758\u2759\u2C60\u2C61\u2C62\u2C92\u2CD0\u2CD1\u2D4F\uA4E1\uA4F2"
                            + "\uA748\uA749\uA78E\uA7AD\uABAE\uD800\uDE8A\uD800\uDF09\uD800\uDF20\uD801\uDC1B\uD801\uDC43"
                            + "\uD801\uDD26\uD801\uDF9B\uD801\uDF9D\uD801\uDFB6\uD806\uDCA3\uD806\uDCB2\uD81B\uDF16\uD81B\uDF28"
                            + "\uD833\uDCDE\uD833\uDCE1\uD833\uDCF1\uD834\uDE2A\uD838\uDC50\uD83A\uDCC7\uD83C\uDD58\uD83C\uDD5B"
                            + "\uD83C\uDD78\uD83C\uDD7B\uD83C\uDDEE\uD83C\uDDF1");
            put(
                    letters,
                    "s",
                    "S\u01A7\u01A8\u01BD\u023F\u0282\u0405\u0455\u054F\u0D1F\u13D5\u13DA\u1515\u18F5\u1D74\u1D8A"
                            + "\u2C7E\uA4E2\uA731\uA784\uA785\uA7A8\uA7A9\uA7C5\uA7C9\uA7CA\uA7F1\uAB95\uABAA\uD800\uDE96"
                            + "\uD801\uDC20\uD801\uDC48\uD806\uDCC1\uD81B\uDF3A\uD833\uDCE8\uD838\uDC69\uD83C\uDD62\uD83C\uDD82"
                            + "\uD83C\uDDF8");
            put(
                    letters,
                    ".",
                    "\u00B7\u0660\u06D4\u06F0\u0701\u0702\u1362\u1427\u166E\u2022\u2027\u2219\u22C5\u2E31\u2E33\u2E3C"
                            + "\u3002\u30FB\uA4F8\uA4FA\uA60E\uA78F\uD802\uDE50\uD834\uDD6D");
            letters.put(0x2AA, "ls");
            letters.put(0x10799, "ls");
            return Map.copyOf(letters);
        }

        private static void put(Map<Integer, String> letters, String letter, String alike) {
            alike.codePoints().forEach(c -> letters.put(c, letter));
        }
    }
}
