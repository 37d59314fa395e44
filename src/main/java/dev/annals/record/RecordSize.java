package dev.annals.record;

import org.jspecify.annotations.Nullable;

/** How large records are, in memory and as JSON. */
public final class RecordSize {

    /** More than all field names, the id, the numbers and the times take together. */
    private static final int FIXED_BYTES = 512;

    /** A control character, as JSON escapes it. */
    private static final int LONGEST_ESCAPE = 6;

    private RecordSize() {}

    /** How many characters its texts have; each takes one or two bytes in memory. */
    public static int characters(StoredRecord stored) {
        AuditRecord record = stored.record();
        return record.action().length()
                + characters(record.actor())
                + characters(record.subject())
                + characters(record.outcome())
                + characters(record.ipAddress())
                + characters(record.message())
                + characters(record.metadata())
                + characters(record.numberSequence())
                + characters(stored.recordedBy());
    }

    /** The most bytes that the JSON of this many records with this many characters can have. */
    public static long jsonAtMost(int records, long characters) {
        return (long) records * FIXED_BYTES + characters * LONGEST_ESCAPE;
    }

    /** How many bytes its JSON has, or up to a few hundred more. */
    public static long json(StoredRecord stored) {
        AuditRecord record = stored.record();
        return FIXED_BYTES
                + text(record.action())
                + text(record.actor())
                + text(record.subject())
                + text(record.outcome())
                + text(record.ipAddress())
                + text(record.message())
                // Already JSON: its quotes count as if they were escaped once more, which gives a little too much.
                + text(record.metadata())
                + text(record.numberSequence())
                + text(stored.recordedBy());
    }

    private static long text(@Nullable Party party) {
        return party == null ? 0 : text(party.type()) + text(party.id()) + text(party.name());
    }

    /** The bytes of a JSON string in UTF-8, without its quotes. */
    private static long text(@Nullable String text) {
        long bytes = 0;
        for (int i = 0; text != null && i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ') {
                bytes += LONGEST_ESCAPE;
            } else if (c == '"' || c == '\\') {
                bytes += 2;
            } else if (c < 0x80) {
                bytes++;
            } else {
                // Each half of a surrogate pair counts for two of the pair's four bytes.
                bytes += c < 0x800 || Character.isSurrogate(c) ? 2 : 3;
            }
        }
        return bytes;
    }

    private static int characters(@Nullable Party party) {
        return party == null ? 0 : characters(party.type()) + characters(party.id()) + characters(party.name());
    }

    private static int characters(@Nullable String text) {
        return text == null ? 0 : text.length();
    }
}
