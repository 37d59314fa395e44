package dev.annals.access.caller;

import org.jspecify.annotations.Nullable;

/**
 * The records that a viewer link shows.
 *
 * @param actorId null for any
 * @param subjectId null for any
 */
public record View(@Nullable String actorId, @Nullable String subjectId) {

    public View {
        if (actorId == null && subjectId == null) {
            throw new IllegalArgumentException("the view of a whole project is null");
        }
    }

    public boolean shows(@Nullable String actor, @Nullable String subject) {
        return (actorId == null || actorId.equals(actor)) && (subjectId == null || subjectId.equals(subject));
    }
}
