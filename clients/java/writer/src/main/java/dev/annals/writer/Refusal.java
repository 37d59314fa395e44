package dev.annals.writer;

import java.util.UUID;

/** A record that will not be stored, returned to the application. */
public final class Refusal {

    private final UUID id;
    private final String json;
    private final String reason;

    Refusal(UUID id, String json, String reason) {
        this.id = id;
        this.json = json;
        this.reason = reason;
    }

    public UUID id() {
        return id;
    }

    /** The whole record, as it was sent. */
    public String json() {
        return json;
    }

    /** The service's reason, or the reason why the client gave it up. */
    public String reason() {
        return reason;
    }
}
