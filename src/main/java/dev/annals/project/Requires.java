package dev.annals.project;

import jakarta.ws.rs.NameBinding;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Marks what a token must allow for an operation. {@link TokenFilter} enforces it. */
public final class Requires {

    private Requires() {}

    /** The token must be for a project, with the scope {@code read}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Read {}

    /**
     * The token must be for a project, with the scope {@code read}, or be that of a viewer link. For operations that keep to
     * {@link Caller#view}; links are refused by all others.
     */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface View {}

    /** The token must be for a project, with the scope {@code link}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Link {}

    /** The token must be for a project, with the scope {@code write}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Write {}

    /** The token must be for a project, with the scope {@code sequence}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Sequence {}

    /** The token must be for a project, with the scope {@code redact}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Redact {}

    /** The token must be for a project, with the scope {@code stream}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Stream {}

    /** The token must be of the project {@code annals}, with the scope {@code audit} or {@code admin}. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Audit {}

    /** Any valid token but that of a viewer link. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Token {}

    /** Any valid token, and no project: of who came by way of an OpenID provider, all projects are known. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Identified {}

    /** The token must be an admin's. */
    @NameBinding
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    public @interface Admin {}
}
