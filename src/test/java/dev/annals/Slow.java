package dev.annals;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Marks tests that {@code mvn verify} leaves to {@code mvn verify -Dtests=slow}, which {@code .ci/run} runs too: those that need
 * other programs than a JDK, and those of a whole procedure whose parts other tests try by themselves.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("slow")
public @interface Slow {}
