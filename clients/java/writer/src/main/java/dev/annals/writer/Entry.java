package dev.annals.writer;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A record that is not settled: its JSON and its acknowledgement. */
final class Entry {

    /** The service takes 65,535 bytes, however characters are escaped; one is left for the "_" before an action. */
    static final int MAX_STORED = 65_534;
    /** Bytes as sent. */
    static final int MAX_BYTES = 6 * 65_535;

    private static final String CHARACTER = "(?:[^\"\\\\]|\\\\u[0-9a-f]{4}|\\\\.)";
    private static final Pattern ACTION =
            Pattern.compile("\\A(\\{\"id\":\"[^\"]*\",\"timestamp\":\"[^\"]*\",\"action\":\")(?!_)(" + CHARACTER
                    + "{1,254})" + CHARACTER + "?\"");
    private static final String PREFIX = "{\"id\":\"";
    private static final byte[] PREFIX_BYTES = PREFIX.getBytes(ISO_8859_1);
    private static final int ID_LENGTH = 36;
    /** About the memory of a record beside its JSON. */
    private static final int OVERHEAD = 200;

    final UUID id;
    final byte[] json;
    final CompletableFuture<UUID> acknowledgement;

    Entry(UUID id, byte[] json) {
        this(id, json, new CompletableFuture<>());
    }

    private Entry(UUID id, byte[] json, CompletableFuture<UUID> acknowledgement) {
        this.id = id;
        this.json = json;
        this.acknowledgement = acknowledgement;
    }

    /** Null if the record does not begin with an id. */
    static Entry spooled(byte[] json) {
        int end = PREFIX.length() + ID_LENGTH;
        String start = json.length < end ? "" : new String(json, 0, end, ISO_8859_1);
        try {
            return start.startsWith(PREFIX) ? new Entry(UUID.fromString(start.substring(PREFIX.length())), json) : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** Whether what begins there may be a record of a spool. */
    static boolean isSpooled(byte[] bytes, int at) {
        int end = at + PREFIX_BYTES.length;
        return end <= bytes.length && Arrays.equals(bytes, at, end, PREFIX_BYTES, 0, PREFIX_BYTES.length);
    }

    /** The record with "_" before its action, in at most 255 characters; null if it has that already. */
    Entry renamed() {
        Matcher action = ACTION.matcher(new String(json, UTF_8));
        return action.find() ? new Entry(id, action.replaceFirst("$1_$2\"").getBytes(UTF_8), acknowledgement) : null;
    }

    int size() {
        return json.length + OVERHEAD;
    }

    Refusal refusal(String reason) {
        return new Refusal(id, new String(json, UTF_8), reason);
    }
}
