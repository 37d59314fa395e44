package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.IpAddress;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestParameters;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads records from the tokens of one body, one after the other, and collects their errors, as pointers into the body.
 *
 * <pre>
 * record   = { "action": string, [ fields ] }     every name at most once, none but these:
 * fields   = "id": uuid | "actor": party | "subject": party | "outcome": string | "ip_address": address
 *          | "message": string | "timestamp": time | "metadata": object | "number": { "sequence": name }
 * party    = { [ "type": string ], [ "id": string ], [ "name": string ] }      at least one of them
 * object   = any JSON object within the limits below
 * </pre>
 *
 * The value null stands for an absent field.
 */
final class RecordParser {

    /** The most levels of objects and arrays in metadata, counting the metadata itself. */
    static final int MAX_DEPTH = 32;

    /**
     * Names and values. PostgreSQL needs at most 16 bytes for each beside its text, so metadata within the size of a record
     * needs less than 131,072 bytes in a row.
     */
    static final int MAX_METADATA_VALUES = 4_096;

    private static final UUID NIL = new UUID(0, 0);
    private static final UUID MAX = new UUID(-1, -1);
    private static final int MAX_ACTION = 255;
    private static final int MAX_OUTCOME = 64;
    private static final int MAX_PARTY_TYPE = 255;
    private static final int MAX_PARTY_TEXT = 1_024;
    /** In characters, as sent and as written out. Every double fits. */
    private static final int MAX_NUMBER = 400;
    /** The greatest double, beyond which many JSON parsers fail. annals.is_servable_metadata() has the same limit. */
    private static final BigDecimal MAX_MAGNITUDE = new BigDecimal("1.7976931348623157e308");

    private static final int MAX_MAGNITUDE_DIGITS = 309;
    /** As the database writes metadata. Numbers and control characters grow when they are written out. */
    private static final int MAX_METADATA_BYTES = 131_072;

    private static final int MAX_POINTER_LENGTH = 300;

    private enum Field {
        ID,
        ACTION,
        ACTOR,
        SUBJECT,
        OUTCOME,
        IP_ADDRESS,
        MESSAGE,
        TIMESTAMP,
        METADATA,
        NUMBER,
        SEQUENCE_ID,
        RECORDED_AT,
        UNKNOWN;

        static Field named(String name) {
            return switch (name) {
                case "id" -> ID;
                case "action" -> ACTION;
                case "actor" -> ACTOR;
                case "subject" -> SUBJECT;
                case "outcome" -> OUTCOME;
                case "ip_address" -> IP_ADDRESS;
                case "message" -> MESSAGE;
                case "timestamp" -> TIMESTAMP;
                case "metadata" -> METADATA;
                case "number" -> NUMBER;
                case "sequence_id" -> SEQUENCE_ID;
                case "recorded_at" -> RECORDED_AT;
                default -> UNKNOWN;
            };
        }
    }

    private final JsonParser json;
    private final byte[] bytes;
    private final int from;
    private final boolean hasEscapes;
    private final SequentialGuid guids;
    private final OffsetDateTime now;
    private final List<FieldError> errors = new ArrayList<>(0);
    private final @Nullable Keys[] keysByDepth = new Keys[MAX_DEPTH + 1];

    /**
     * Parses the tokens that {@code json} reads from {@code bytes}, beginning at {@code from}.
     *
     * @param hasEscapes false if no string contains an escape, and so neither a NUL nor a lone surrogate
     * @param now the timestamp of a record without one
     */
    RecordParser(
            JsonParser json, byte[] bytes, int from, boolean hasEscapes, SequentialGuid guids, OffsetDateTime now) {
        this.json = json;
        this.bytes = bytes;
        this.from = from;
        this.hasEscapes = hasEscapes;
        this.guids = guids;
        this.now = now;
    }

    /** Reads the record that begins at the current token. Null if a field is wrong. */
    @Nullable
    AuditRecord record() throws IOException {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            wrong("must be a record: an object");
            json.skipChildren();
            return null;
        }
        int errorsBefore = errors.size();
        long start = json.currentTokenLocation().getByteOffset();
        AuditRecord.Draft draft = new AuditRecord.Draft(NIL, "", now);
        draft.idAssigned = true;
        draft.timestampAssigned = true;
        Set<Field> seen = EnumSet.noneOf(Field.class);
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            Field field = Field.named(json.currentName());
            boolean again = !seen.add(field) && field != Field.UNKNOWN;
            json.nextToken();
            if (again) {
                wrongAndSkipped("is there twice: keep one");
            } else {
                read(field, draft);
            }
        }
        checkSize((int) start, (int) json.currentLocation().getByteOffset());
        if (!seen.contains(Field.ACTION)) {
            wrongField("action", "is required: a string of 1 to " + MAX_ACTION + " characters");
        }
        if (errors.size() > errorsBefore) {
            return null;
        }
        if (draft.idAssigned) {
            draft.id = guids.next();
        }
        return draft.record();
    }

    private void checkSize(int start, int end) {
        int sent = end - start;
        if (sent > RecordReader.MAX_SENT_BYTES) {
            wrong("is a record of more than " + RecordReader.MAX_SENT_BYTES
                    + " bytes as it is sent: shorten its message or metadata");
        } else if (sent > RecordReader.MAX_RECORD_BYTES
                && JsonText.countedBytes(bytes, from + start, from + end) > RecordReader.MAX_RECORD_BYTES) {
            wrong("is a record of more than " + RecordReader.MAX_RECORD_BYTES
                    + " bytes: shorten its message or metadata");
        }
    }

    private void read(Field field, AuditRecord.Draft draft) throws IOException {
        switch (field) {
            case ID -> {
                UUID id = id();
                draft.id = id == null ? draft.id : id;
                draft.idAssigned = id == null;
            }
            case ACTION -> draft.action = Objects.requireNonNullElse(action(), "");
            case ACTOR -> draft.actor = party();
            case SUBJECT -> draft.subject = party();
            case OUTCOME -> draft.outcome = string(1, MAX_OUTCOME);
            case IP_ADDRESS -> draft.ipAddress = ipAddress();
            case MESSAGE -> draft.message = string(0, Integer.MAX_VALUE);
            case TIMESTAMP -> {
                OffsetDateTime timestamp = timestamp();
                draft.timestamp = timestamp == null ? now : timestamp;
                draft.timestampAssigned = timestamp == null;
            }
            case METADATA -> draft.metadata = metadata();
            case NUMBER -> draft.numberSequence = numberSequence();
            case SEQUENCE_ID, RECORDED_AT -> wrongAndSkipped("is set by the service: leave it out");
            case UNKNOWN -> wrongAndSkipped("is not a field of a record: leave it out, or move it into metadata");
        }
    }

    private @Nullable UUID id() throws IOException {
        String text = string(0, Integer.MAX_VALUE);
        if (text == null) {
            return null;
        }
        UUID id = CanonicalGuid.parse(text);
        if (id == null) {
            wrong("must be a UUID, such as 019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a");
        } else if (id.equals(NIL) || id.equals(MAX)) {
            // Programs that never set an id send these. All records but the first would count as repetitions.
            wrong(
                    "must be the id of this record alone, not the nil or the max UUID: leave it out, and the service makes one");
        }
        return id;
    }

    private @Nullable String action() throws IOException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            wrong("is required: a string of 1 to " + MAX_ACTION + " characters");
            return null;
        }
        String text = string(1, MAX_ACTION);
        if (text != null && AuditRecord.Confusables.isReserved(text)) {
            wrong("must not begin with " + AuditRecord.RESERVED
                    + ", or look as if it did: these are the service's own");
            return null;
        }
        return text;
    }

    private @Nullable String ipAddress() throws IOException {
        String text = string(0, Integer.MAX_VALUE);
        if (text == null) {
            return null;
        }
        String address = IpAddress.canonical(text);
        if (address == null) {
            wrong("must be an IPv4 or IPv6 address, without a prefix or a zone");
        }
        return address;
    }

    private @Nullable OffsetDateTime timestamp() throws IOException {
        String text = string(0, Integer.MAX_VALUE);
        if (text == null) {
            return null;
        }
        OffsetDateTime timestamp = Timestamps.parse(text);
        if (timestamp == null) {
            wrong(
                    "must be an RFC 3339 timestamp with an offset in the years 0001 to 9999,"
                            + " such as 2025-09-03T11:15:19.391447Z, and with a second 60 only at the end of June or December in UTC");
        }
        return timestamp;
    }

    private @Nullable Party party() throws IOException {
        if (!isObject("must be an object with type, id or name")) {
            return null;
        }
        String type = null;
        String id = null;
        String name = null;
        int errorsBefore = errors.size();
        Keys keys = keysAt(1);
        for (String key = nextKey(keys); key != null; key = nextKey(keys)) {
            switch (key) {
                case "type" -> type = string(0, MAX_PARTY_TYPE);
                case "id" -> id = string(0, MAX_PARTY_TEXT);
                case "name" -> name = string(0, MAX_PARTY_TEXT);
                default -> wrongAndSkipped("is not type, id or name: leave it out");
            }
        }
        if (type == null && id == null && name == null && errors.size() == errorsBefore) {
            wrong("must have at least one of type, id and name");
        }
        return new Party(type, id, name);
    }

    private @Nullable String numberSequence() throws IOException {
        if (!isObject("must be an object with sequence, the name of a sequence")) {
            return null;
        }
        String sequence = null;
        int errorsBefore = errors.size();
        Keys keys = keysAt(1);
        for (String key = nextKey(keys); key != null; key = nextKey(keys)) {
            switch (key) {
                case "sequence" -> sequence = sequenceName();
                case "value" -> wrongAndSkipped("is set by the service: leave it out");
                default -> wrongAndSkipped("is not sequence: leave it out");
            }
        }
        if (sequence == null && errors.size() == errorsBefore) {
            wrong("must have sequence, the name of a sequence");
        }
        return sequence;
    }

    /** Moves to the value of the next key; null at the object's end. A repeated key is an error. */
    private @Nullable String nextKey(Keys keys) throws IOException {
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String key = json.currentName();
            json.nextToken();
            if (keys.add(key)) {
                return key;
            }
            wrongAndSkipped("is there twice: keep one");
        }
        return null;
    }

    private @Nullable String sequenceName() throws IOException {
        String name = string(0, Integer.MAX_VALUE);
        if (name != null && !RequestParameters.isName(name)) {
            wrong("must be the name of a sequence: 1 to 128 letters, digits, dots, hyphens and underscores");
        }
        return name;
    }

    /** The current object's text as it was sent; null for null and for an empty object. */
    private @Nullable String metadata() throws IOException {
        if (!isObject("must be an object")) {
            return null;
        }
        long start = json.currentTokenLocation().getByteOffset();
        int errorsBefore = errors.size();
        int count = 0;
        long growth = 0;
        int depth = 1;
        keysAt(1);
        while (depth > 0) {
            JsonToken token = json.nextToken();
            count += token.isStructEnd() ? 0 : 1;
            switch (token) {
                case START_OBJECT, START_ARRAY -> {
                    if (depth == MAX_DEPTH) {
                        wrongAndSkipped("is nested too deeply: metadata may have " + MAX_DEPTH + " levels");
                    } else {
                        depth++;
                        keysAt(depth);
                    }
                }
                case END_OBJECT, END_ARRAY -> depth--;
                case FIELD_NAME -> metadataKey(depth, json.currentName());
                case VALUE_STRING -> {
                    if (hasEscapes) {
                        checkText(json.getText());
                    }
                }
                case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> growth += growthOfNumber();
                case VALUE_TRUE, VALUE_FALSE, VALUE_NULL, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE -> {}
            }
        }
        if (count > MAX_METADATA_VALUES) {
            wrong("has " + count + " names and values: at most " + MAX_METADATA_VALUES + " are taken");
        }
        if (count == 0) {
            return null;
        }
        int length = (int) (json.currentLocation().getByteOffset() - start);
        String text = new String(bytes, from + (int) start, length, StandardCharsets.UTF_8);
        // Numbers aside, only the separators after names and values grow: by one space each.
        if (length + count + growth > MAX_METADATA_BYTES && errors.size() == errorsBefore) {
            long written = JsonText.writtenBytes(text);
            if (written > MAX_METADATA_BYTES) {
                wrong("has " + written
                        + " bytes as the database writes it, with control characters escaped and numbers without"
                        + " exponents: at most " + MAX_METADATA_BYTES + " are taken");
            }
        }
        return text;
    }

    private void metadataKey(int depth, String key) {
        Keys keys = keysByDepth[depth];
        if (keys != null && !keys.add(key)) {
            wrong("is there twice: keep one");
        }
        if (hasEscapes) {
            checkText(key);
        }
    }

    /** The characters by which the current number grows when the database writes it. */
    private long growthOfNumber() throws IOException {
        int length = json.getTextLength();
        int at = json.getTextOffset();
        if (length > MAX_NUMBER) {
            wrongNumber();
            return 0;
        }
        long written = JsonText.writtenLength(json.getTextCharacters(), at, at + length);
        if (written > MAX_NUMBER || (written >= MAX_MAGNITUDE_DIGITS && isBeyondDouble(at, length))) {
            wrongNumber();
            return 0;
        }
        return written - length;
    }

    private boolean isBeyondDouble(int at, int length) throws IOException {
        return new BigDecimal(json.getTextCharacters(), at, length).abs().compareTo(MAX_MAGNITUDE) > 0;
    }

    private void wrongNumber() {
        wrong("must be a number in the range of a double, of at most " + MAX_NUMBER
                + " characters without an exponent: send it as a string");
    }

    /** Whether the current value is an object. Null counts as absent; any other value is an error. */
    private boolean isObject(String otherwise) throws IOException {
        boolean object = json.currentToken() == JsonToken.START_OBJECT;
        if (!object && json.currentToken() != JsonToken.VALUE_NULL) {
            wrongAndSkipped(otherwise);
        }
        return object;
    }

    /** The current value if it is a valid string; null if it is null or an error. Lengths are in characters. */
    private @Nullable String string(int shortest, int longest) throws IOException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return null;
        }
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            wrongAndSkipped("must be a string");
            return null;
        }
        String text = json.getText();
        if (hasEscapes && !checkText(text)) {
            return null;
        }
        if (text.length() < shortest || (text.length() > longest && text.codePointCount(0, text.length()) > longest)) {
            wrong(
                    shortest == 0
                            ? "must have at most " + longest + " characters"
                            : "must have " + shortest + " to " + longest + " characters");
            return null;
        }
        return text;
    }

    private boolean checkText(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == 0) {
                wrong("must not contain the NUL character");
                return false;
            }
            if (Character.isSurrogate(c)) {
                boolean paired = Character.isHighSurrogate(c)
                        && i + 1 < text.length()
                        && Character.isLowSurrogate(text.charAt(i + 1));
                if (!paired) {
                    wrong("must not contain half of a surrogate pair");
                    return false;
                }
                i++;
            }
        }
        return true;
    }

    /** Adds an error at the current value, and moves to its end. */
    void wrongAndSkipped(String detail) throws IOException {
        wrong(detail);
        json.skipChildren();
    }

    void wrong(String detail) {
        add(json.getParsingContext().pathAsPointer().toString(), detail);
    }

    /** Adds an error at a field of the record that has just ended. */
    void wrongField(String name, String detail) {
        add(json.getParsingContext().pathAsPointer() + "/" + name, detail);
    }

    private void add(String pointer, String detail) {
        String shown =
                pointer.length() <= MAX_POINTER_LENGTH ? pointer : pointer.substring(0, MAX_POINTER_LENGTH) + "…";
        errors.add(new FieldError(shown, detail));
        if (errors.size() == RecordReader.MAX_ERRORS) {
            throw refusal();
        }
    }

    boolean hasErrors() {
        return !errors.isEmpty();
    }

    ProblemException refusal() {
        String detail = errors.size() == RecordReader.MAX_ERRORS
                ? "These are the first " + RecordReader.MAX_ERRORS + " wrong fields"
                : errors.size() == 1 ? "One field is wrong" : errors.size() + " fields are wrong";
        return new ProblemException(
                Problem.of(ProblemType.INVALID_RECORD, detail + ", so nothing was stored: correct what errors names")
                        .withErrors(errors));
    }

    /** An empty set of keys for the object that begins at this depth. */
    private Keys keysAt(int depth) {
        Keys keys = keysByDepth[depth];
        if (keys == null) {
            keys = new Keys();
            keysByDepth[depth] = keys;
        }
        keys.clear();
        return keys;
    }

    /** The keys of one object: a few are compared one by one, and only many are hashed. */
    private static final class Keys {
        private final String[] few = new String[8];
        private int count;
        private @Nullable Set<String> many;

        void clear() {
            count = 0;
            many = null;
        }

        boolean add(String key) {
            if (many != null) {
                return many.add(key);
            }
            for (int i = 0; i < count; i++) {
                if (few[i].equals(key)) {
                    return false;
                }
            }
            if (count == few.length) {
                many = new HashSet<>(List.of(few));
                return many.add(key);
            }
            few[count++] = key;
            return true;
        }
    }
}
