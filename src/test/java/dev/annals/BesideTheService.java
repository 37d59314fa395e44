package dev.annals;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Set;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.ResourceLocksProvider;

/**
 * Marks tests that take a while, need no service of this process and disturb none: they run at the same time as the tests
 * that are not marked, which run one after the other, and as those of one other class. In the database server that all share
 * they see only databases of their own.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Execution(ExecutionMode.CONCURRENT)
// Held by a class for all of its methods: without it, methods of a class would run at the same time, too.
@ResourceLock(providers = BesideTheService.EachClassItsOwn.class)
public @interface BesideTheService {

    /** A lock that no other class asks for. */
    final class EachClassItsOwn implements ResourceLocksProvider {

        @Override
        public Set<Lock> provideForClass(Class<?> testClass) {
            return Set.of(new Lock(testClass.getName()));
        }
    }
}
