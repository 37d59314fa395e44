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
 * <p>As text it looks like {@code 10225-9f3a61c2}: the sequence id, and a check value of the record with that id and of the
 * mark that its place was given with. After a failover that lost the end of a feed, or after a backup was restored, the same
 * sequence id may belong to another record; and a record that was sent again may even have got back its place behind others that
 * the reader has not seen. Then the check value does not match, and the reader is told instead of losing records. A bare sequence id is accepted as
 * well; the only check is that it does not lie beyond the head.
 *
 * @param sequenceId 0 or more
 * @param check the check value of the record with this sequence id; null if it is not known
 */
public record Cursor(long sequenceId, @Nullable Integer check) {

    /** Before the first record. */
    public static final Cursor START = new Cursor(0, null);

    private static final Pattern TEXT = Pattern.compile("([0-9]{1,18})(?:-([0-9a-f]{8}))?");

    /**
     * The cursor after a record.
     *
     * @param mark that of the record's place
     */
    public static Cursor behind(UUID projectId, long sequenceId, UUID recordId, int mark) {
        return new Cursor(sequenceId, checkValue(projectId, recordId, mark));
    }

    /** The cursor after a record of a page. */
    public static Cursor behind(UUID projectId, EncodedRecord record) {
        return behind(projectId, record.sequenceId(), record.id(), record.mark());
    }

    /** Reads a cursor's text; empty if it is not a cursor. */
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
        // The start has no record, and so no check value.
        return sequenceId == 0
                ? Optional.empty()
                : Optional.of(new Cursor(sequenceId, Integer.parseUnsignedInt(check, 16)));
    }

    /** Whether the record now found at this cursor's sequence id is the one that the cursor was made from, and was placed there only once. */
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
     * 32 bits of both ids and the mark, mixed by the finalizer of MurmurHash3 (Austin Appleby): two different records, or two
     * places of one, have the same value once in 2<sup>32</sup>.
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
