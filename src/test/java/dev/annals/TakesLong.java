package dev.annals;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Marks tests that run only with {@code -Dtests.long=true} or when they are named ({@code -Dtest}, {@code -Dit.test}): other
 * tests cover the same in another setting, or they need much data before there is anything to see. {@code .ci/run long}
 * runs them.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("long")
public @interface TakesLong {}
