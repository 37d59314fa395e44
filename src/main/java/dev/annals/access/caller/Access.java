package dev.annals.access.caller;

import org.jspecify.annotations.Nullable;

/** The kinds of access that operations require. */
public enum Access {
    /** No token: anyone may call the operation. */
    PUBLIC(null),
    /** Any valid token, and no project: all projects of an identity from an OpenID provider are known. */
    IDENTIFIED(null),
    /** Any valid token except a viewer link's. */
    TOKEN(null),
    /** A token for a project, with the scope {@code read}. */
    READ(Scope.READ),
    /**
     * A token for a project, with the scope {@code read}, or a viewer link's. For operations that keep to {@link Caller#view}; all
     * others refuse links.
     */
    VIEW(Scope.VIEW),
    /** A token for a project, with the scope {@code link}. */
    LINK(Scope.LINK),
    /** A token for a project, with the scope {@code write}. */
    WRITE(Scope.WRITE),
    /** A token for a project, with the scope {@code sequence}. */
    SEQUENCE(Scope.SEQUENCE),
    /** A token for a project, with the scope {@code redact}. */
    REDACT(Scope.REDACT),
    /** A token for a project, with the scope {@code stream}. */
    STREAM(Scope.STREAM),
    /** A token of the project {@code annals}, with the scope {@code audit} or {@code admin}. */
    AUDIT(Scope.AUDIT),
    /** A token of the project {@code annals}, with the scope {@code admin}. */
    ADMIN(Scope.ADMIN);

    private final @Nullable Scope scope;

    Access(@Nullable Scope scope) {
        this.scope = scope;
    }

    /** The scope that a token needs; null if it needs none. */
    @Nullable
    public Scope scope() {
        return scope;
    }
}
