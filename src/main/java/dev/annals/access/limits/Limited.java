package dev.annals.access.limits;

import java.util.UUID;

/** A caller to which limits apply. */
public interface Limited {

    /** The request property with the caller. */
    String PROPERTY = "annals.caller";

    /** Its tokens share {@link #projectLimits}. */
    UUID projectId();

    /** The token, or the identity in its project. */
    UUID key();

    Limits projectLimits();

    Limits tokenLimits();

    default boolean isLimited() {
        return !projectLimits().isEmpty() || !tokenLimits().isEmpty();
    }
}
