package dev.annals.writer;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** The receipt for one appended record. */
public final class Receipt {

    private final UUID id;
    private final CompletableFuture<UUID> acknowledgement;

    Receipt(UUID id, CompletableFuture<UUID> acknowledgement) {
        this.id = id;
        this.acknowledgement = acknowledgement;
    }

    /** {@code GET /v1/project-logs/{id}} returns the record. */
    public UUID id() {
        return id;
    }

    /**
     * Completes once the record is safe: with a spool as soon as it is on disk, without one as soon as the service has stored it. Without a
     * spool it fails with a {@link RecordRefusedException} if the record will not be stored. Dependent stages run in the client's own
     * thread: use the {@code Async} methods for slow work.
     */
    public CompletableFuture<UUID> acknowledgement() {
        return acknowledgement;
    }
}
