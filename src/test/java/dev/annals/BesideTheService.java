package dev.annals;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Marks tests that take a while, need no service of this process and disturb none: they run at the same time as the tests
 * that are not marked. Both kinds run one after the other among themselves. In the database server that all share they see
 * only databases of their own.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Execution(ExecutionMode.CONCURRENT)
// Held by one class at a time, for all of its methods: without it, methods of a class would run at the same time, too.
@ResourceLock("tests beside the service")
public @interface BesideTheService {}
