package dev.annals.proof;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The part of a record that its leaf covers: its place, and its fields in canonical JSON.
 *
 * @param id a UUID, in lower case
 * @param sequenceId its place in the feed, from 1; its leaf has the index {@code sequenceId - 1}
 * @param recordedAt as the API writes it
 * @param fields those of {@link #FIELDS} that are set
 */
public record LeafRecord(String id, long sequenceId, String recordedAt, SortedMap<String, String> fields) {

    /** In the order of a leaf. */
    public static final List<String> FIELDS = List.of(
            "action",
            "actor.id",
            "actor.name",
            "actor.type",
            "ip_address",
            "message",
            "metadata",
            "number",
            "outcome",
            "recorded_by",
            "subject.id",
            "subject.name",
            "subject.type",
            "timestamp");

    /** In events of the service, only {@code message} can be redacted. */
    public static final List<String> REDACTABLE = List.of(
            "actor.type",
            "actor.id",
            "actor.name",
            "subject.type",
            "subject.id",
            "subject.name",
            "outcome",
            "ip_address",
            "message",
            "metadata");

    private static final String OWN_ACTION = "\"annals.";
    private static final Set<String> PARTIES = Set.of("actor", "subject");
    /** The API writes empty metadata if none was sent. */
    private static final String NO_METADATA = "{}";

    /**
     * Reads a record from the JSON of the API.
     *
     * @param json an object with the members {@code id}, {@code sequence_id}, {@code recorded_at}, and the fields
     * @throws IllegalArgumentException if it has members that no leaf covers, lacks one of these three, or is not JSON that {@link
     * CanonicalJson#of} accepts
     */
    public static LeafRecord parse(String json) {
        return of(CanonicalJson.members(json));
    }

    static LeafRecord of(SortedMap<String, String> members) {
        SortedMap<String, String> fields = new TreeMap<>();
        SortedMap<String, String> rest = new TreeMap<>(members);
        String id = CanonicalJson.string(take(rest, "id"));
        String recordedAt = CanonicalJson.string(take(rest, "recorded_at"));
        long sequenceId = sequenceId(take(rest, "sequence_id"));
        for (Map.Entry<String, String> member : rest.entrySet()) {
            if (PARTIES.contains(member.getKey())) {
                CanonicalJson.members(member.getValue())
                        .forEach((part, value) -> put(fields, member.getKey() + "." + part, value));
            } else {
                put(fields, member.getKey(), member.getValue());
            }
        }
        return new LeafRecord(id, sequenceId, recordedAt, fields);
    }

    private static String take(SortedMap<String, String> members, String name) {
        String value = members.remove(name);
        if (value == null) {
            throw new IllegalArgumentException("the record has no " + name);
        }
        return value;
    }

    private static long sequenceId(String text) {
        if (!text.matches("[1-9][0-9]{0,17}")) {
            throw new IllegalArgumentException(text + " is no sequence id");
        }
        return Long.parseLong(text);
    }

    private static void put(SortedMap<String, String> fields, String name, String value) {
        if (!FIELDS.contains(name)) {
            throw new IllegalArgumentException("no leaf covers the field " + name);
        }
        if (!name.equals("metadata") || !value.equals(NO_METADATA)) {
            fields.put(name, value);
        }
    }

    /** The entry of this record, if no field was redacted. */
    public Hash entry(Seed recordSeed) {
        SortedMap<String, Hash> digests = new TreeMap<>();
        fields.forEach((name, value) -> digests.put(name, digest(recordSeed.salt(name), name, value)));
        return entry(digests);
    }

    /**
     * The entry of this record after redactions.
     *
     * @param salts of the fields that are set
     * @param redacted the digests of redacted fields
     * @throws IllegalArgumentException if they do not match the fields, are not base64url, or belong to fields that cannot be redacted
     */
    public Hash entry(Map<String, String> salts, Map<String, String> redacted) {
        SortedMap<String, Hash> digests = new TreeMap<>();
        fields.forEach((name, value) -> {
            String salt = salts.get(name);
            if (salt == null || salts.size() != fields.size()) {
                throw new IllegalArgumentException("record " + id + " has other salts than fields");
            }
            Base64Url.parse(salt, Seed.SALT_BYTES);
            digests.put(name, digest(salt, name, value));
        });
        redacted.forEach((name, digest) -> {
            if (!isRedactable(name) || digests.put(name, Hash.at(Base64Url.parse(digest, Hash.BYTES), 0)) != null) {
                throw new IllegalArgumentException("record " + id + " cannot have redacted its field " + name);
            }
        });
        return entry(digests);
    }

    private boolean isRedactable(String field) {
        return fields.getOrDefault("action", OWN_ACTION).startsWith(OWN_ACTION)
                ? field.equals("message")
                : REDACTABLE.contains(field);
    }

    /** @param digests one for each field that is set or was redacted */
    Hash entry(SortedMap<String, Hash> digests) {
        StringBuilder out = new StringBuilder(1024).append("{\"annals\":\"leaf/1\",\"fields\":{");
        Iterator<Map.Entry<String, Hash>> each = digests.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry<String, Hash> digest = each.next();
            out.append('"').append(digest.getKey()).append("\":\"");
            out.append(digest.getValue().toBase64Url()).append(each.hasNext() ? "\"," : "\"");
        }
        out.append("},\"id\":").append(CanonicalJson.quoted(id));
        out.append(",\"recorded_at\":").append(CanonicalJson.quoted(recordedAt));
        out.append(",\"sequence_id\":").append(sequenceId).append('}');
        return Hash.of(out.toString());
    }

    /**
     * The digest of a field.
     *
     * @param value in canonical JSON
     */
    static Hash digest(String salt, String name, String value) {
        return Hash.of("[\"" + salt + "\",\"" + name + "\"," + value + "]");
    }
}
