package dev.annals.writer;

import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** A record on its way: its JSON, and who waits for it. */
final class Entry {

    /** The service takes no larger record. */
    static final int MAX_BYTES = 65_535;

    private static final String PREFIX = "{\"id\":\"";
    private static final int ID_LENGTH = 36;
    /** About what a record takes in memory beside its JSON. */
    private static final int OVERHEAD = 200;

    final UUID id;
    final byte[] json;
    final CompletableFuture<UUID> acknowledgement;

    Entry(UUID id, byte[] json) {
        this.id = id;
        this.json = json;
        this.acknowledgement = new CompletableFuture<>();
    }

    /** A record as a spool has it, or null where it does not begin with an id. */
    static Entry spooled(byte[] json) {
        int end = PREFIX.length() + ID_LENGTH;
        String start = json.length < end ? "" : new String(json, 0, end, StandardCharsets.ISO_8859_1);
        try {
            return start.startsWith(PREFIX) ? new Entry(UUID.fromString(start.substring(PREFIX.length())), json) : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    int size() {
        return json.length + OVERHEAD;
    }

    Refusal refusal(String reason) {
        return new Refusal(id, new String(json, StandardCharsets.UTF_8), reason);
    }
}
