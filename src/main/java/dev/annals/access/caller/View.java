package dev.annals.access.caller;

import org.jspecify.annotations.Nullable;

/**
 * The records that a viewer link shows: those of one actor, or of one subject, or of both.
 *
 * @param actorId null: any
 * @param subjectId null: any
 */
public record View(@Nullable String actorId, @Nullable String subjectId) {

    public View {
        if (actorId == null && subjectId == null) {
            throw new IllegalArgumentException("a link without a filter would show everything");
        }
    }

    /** Whether it shows a record with this actor and this subject, by their ids. */
    public boolean shows(@Nullable String actor, @Nullable String subject) {
        return (actorId == null || actorId.equals(actor)) && (subjectId == null || subjectId.equals(subject));
    }
}
