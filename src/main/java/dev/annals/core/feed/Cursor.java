package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import java.util.HexFormat;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A place in a feed: directly after the record with this sequence id; 0 is the start.
 *
 * <p>As text it looks like {@code 10225-9f3a61c2}: the sequence id, and a check value of the record and the mark of its
 * place. If a failover or a restore gave the place to another record, or to one sent again, the check value does not match,
 * and the client gets an error instead of losing records. A bare sequence id only has to lie at or before the head.
 *
 * @param check null if it is unknown
 */
public record Cursor(long sequenceId, @Nullable Integer check) {

    public static final Cursor START = new Cursor(0, null);

    private static final Pattern TEXT = Pattern.compile("([0-9]{1,18})(?:-([0-9a-f]{8}))?");

    public static Cursor behind(UUID projectId, long sequenceId, UUID recordId, int mark) {
        return new Cursor(sequenceId, checkValue(projectId, recordId, mark));
    }

    public static Cursor behind(UUID projectId, EncodedRecord record) {
        return behind(projectId, record.sequenceId(), record.id(), record.mark());
    }

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

    boolean matches(UUID projectId, UUID recordId, int mark) {
        return check == null || check == checkValue(projectId, recordId, mark);
    }

    @Override
    public String toString() {
        return check == null
                ? Long.toString(sequenceId)
                : sequenceId + "-" + HexFormat.of().toHexDigits(check.intValue());
    }

    /** The finalizer of MurmurHash3 (Austin Appleby). Two records, or two places of one, collide once in 2<sup>32</sup>. */
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
