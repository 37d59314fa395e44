package dev.annals.access.caller;

import dev.annals.access.sessions.TokenFilter;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The access that an operation requires. {@link TokenFilter} enforces it, and refuses to start with an operation that does not
 * say what it requires. On a class it holds for all methods that have no annotation of their own.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface Requires {

    /** The least that a caller needs. */
    Access value();
}
