package dev.annals;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Marks tests that run with {@code -Dtests.long=true} alone: those that try once more, in another setting or with more of it, what
 * other tests try each time.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@EnabledIfSystemProperty(named = "tests.long", matches = "true", disabledReason = "runs with -Dtests.long=true")
public @interface TakesLong {}
