package dev.annals.writer;

import java.util.UUID;

/** A record that will not be stored, handed back so that it is not lost. */
public final class Refusal {

    private final UUID id;
    private final String json;
    private final String reason;

    Refusal(UUID id, String json, String reason) {
        this.id = id;
        this.json = json;
        this.reason = reason;
    }

    /** The record's id. */
    public UUID id() {
        return id;
    }

    /** The whole record, as it was sent. */
    public String json() {
        return json;
    }

    /** What the service said of it, or why the client has given it up. */
    public String reason() {
        return reason;
    }
}
