package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import java.util.HexFormat;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A place in a feed: directly after the record with this sequence id; 0 is the start of the feed.
 *
 * <p>As text it looks like {@code 10225-9f3a61c2}: the sequence id, and a check value of the record and the mark of its place.
 * After a failover that lost the end of a feed, or after a restore, the sequence id may belong to another record, or the record
 * may have been sent again and placed behind records that the client has not seen. Then the check value does not match, and the
 * client gets an error instead of losing records. A bare sequence id is valid too, and only has to lie at or before the head.
 *
 * @param sequenceId 0 or more
 * @param check the check value of the record with this sequence id; null if it is unknown
 */
public record Cursor(long sequenceId, @Nullable Integer check) {

    /** Before the first record. */
    public static final Cursor START = new Cursor(0, null);

    private static final Pattern TEXT = Pattern.compile("([0-9]{1,18})(?:-([0-9a-f]{8}))?");

    /**
     * The cursor after a record.
     *
     * @param mark of the record's place
     */
    public static Cursor behind(UUID projectId, long sequenceId, UUID recordId, int mark) {
        return new Cursor(sequenceId, checkValue(projectId, recordId, mark));
    }

    /** The cursor after a record of a page. */
    public static Cursor behind(UUID projectId, EncodedRecord record) {
        return behind(projectId, record.sequenceId(), record.id(), record.mark());
    }

    /** Parses the text of a cursor; empty if it is none. */
    public static Optional<Cursor> parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        long sequenceId = Long.parseLong(matcher.group(1));
        String check = matcher.group(2);
        if (check == null) {
            return Optional.of(new Cursor(sequenceId, null));
        }
        // The start has no record, so a check value is wrong.
        return sequenceId == 0
                ? Optional.empty()
                : Optional.of(new Cursor(sequenceId, Integer.parseUnsignedInt(check, 16)));
    }

    /** Whether the record at this cursor's sequence id, and the mark of its place, are those that the cursor was made from. */
    boolean matches(UUID projectId, UUID recordId, int mark) {
        return check == null || check == checkValue(projectId, recordId, mark);
    }

    @Override
    public String toString() {
        return check == null
                ? Long.toString(sequenceId)
                : sequenceId + "-" + HexFormat.of().toHexDigits(check.intValue());
    }

    /**
     * Mixes both ids and the mark with the finalizer of MurmurHash3 (Austin Appleby). Two records, or two places of one, have
     * the same value once in 2<sup>32</sup>.
     */
    private static int checkValue(UUID projectId, UUID recordId, int mark) {
        long hash = mix(recordId.getMostSignificantBits());
        hash = mix(hash ^ recordId.getLeastSignificantBits());
        hash = mix(hash ^ projectId.getMostSignificantBits());
        hash = mix(hash ^ projectId.getLeastSignificantBits());
        hash = mix(hash ^ mark);
        return (int) (hash >>> 32);
    }

    private static long mix(long value) {
        value = (value ^ (value >>> 33)) * 0xff51afd7ed558ccdL;
        value = (value ^ (value >>> 33)) * 0xc4ceb9fe1a85ec53L;
        return value ^ (value >>> 33);
    }
}
