package dev.annals.access.caller;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The scope that an operation needs. An annotation on a class applies to its methods without one. The service does not start if
 * an operation has none.
 *
 * <p>{@code @Requires} without a scope accepts every token except a viewer link's.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface Requires {

    /** One scope, or none. {@link Caller#may} says which scopes include others. */
    Scope[] value() default {};

    /** False: anyone may call, and there is no {@link Caller}. */
    boolean token() default true;

    /** False: an identity of the provider need not name a project. */
    boolean project() default true;
}
