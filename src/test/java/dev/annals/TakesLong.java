package dev.annals;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Marks tests that run only with {@code -Dtests.long=true}: other tests cover the same in another setting, or they need
 * much data before there is anything to see. All of them run before a release.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@EnabledIfSystemProperty(named = "tests.long", matches = "true", disabledReason = "runs with -Dtests.long=true")
public @interface TakesLong {}
