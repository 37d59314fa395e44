package dev.annals.access.limits;

import java.util.UUID;

/** What limits apply to. */
public interface Limited {

    /** The name of the request property that holds it. */
    String PROPERTY = "annals.caller";

    /** The project whose tokens share {@link #projectLimits}. */
    UUID projectId();

    /** What {@link #tokenLimits} apply to: a token, or an identity in its project. */
    UUID key();

    /** Those of all tokens of the project together. */
    Limits projectLimits();

    /** Those of this token alone. */
    Limits tokenLimits();

    /** Whether its project or its token has any limits. */
    default boolean isLimited() {
        return !projectLimits().isEmpty() || !tokenLimits().isEmpty();
    }
}
