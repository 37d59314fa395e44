package dev.annals.writer;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** For one appended record. */
public final class Receipt {

    private final UUID id;
    private final CompletableFuture<UUID> acknowledgement;

    Receipt(UUID id, CompletableFuture<UUID> acknowledgement) {
        this.id = id;
        this.acknowledgement = acknowledgement;
    }

    /** The record's id, by which the service has it: {@code GET /v1/project-logs/{id}}. */
    public UUID id() {
        return id;
    }

    /**
     * Completes once the record is safe: with a spool as soon as it is on disk, without one as soon as the service has stored
     * it. Without a spool it fails with a {@link RecordRefusedException} if the record will not be stored. What depends on it
     * runs in the client's own thread: use the {@code Async} methods for whatever takes time.
     */
    public CompletableFuture<UUID> acknowledgement() {
        return acknowledgement;
    }
}
