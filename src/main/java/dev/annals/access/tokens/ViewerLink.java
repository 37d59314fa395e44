package dev.annals.access.tokens;

import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A link to the viewer that was made now.
 *
 * @param token shown only once
 * @param id of the token
 * @param subjectId whose records it shows; null: any
 * @param actorId whose records it shows; null: any
 */
public record ViewerLink(
        String token,
        UUID id,
        @Nullable String subjectId,
        @Nullable String actorId,
        OffsetDateTime expiresAt) {}
