package dev.annals.access.limits;

import java.util.UUID;

/** A caller to which limits apply. */
public interface Limited {

    /** The name of the request property that holds it. */
    String PROPERTY = "annals.caller";

    /** The project whose tokens share {@link #projectLimits}. */
    UUID projectId();

    /** The token, or the identity in its project, to which {@link #tokenLimits} apply. */
    UUID key();

    /** The limits that all tokens of the project share. */
    Limits projectLimits();

    /** The limits of this token alone. */
    Limits tokenLimits();

    /** True if the project or the token has limits. */
    default boolean isLimited() {
        return !projectLimits().isEmpty() || !tokenLimits().isEmpty();
    }
}
