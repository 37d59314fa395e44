package dev.annals;

import io.quarkus.runtime.annotations.RegisterForReflection;

/**
 * Classes that Caffeine loads by name, and that its extension does not register for native executables: caches with a weight, with
 * and without a time since the last write, and entries with a time since the last use.
 */
@RegisterForReflection(
        classNames = {
            "com.github.benmanes.caffeine.cache.SSMW",
            "com.github.benmanes.caffeine.cache.SSMWW",
            "com.github.benmanes.caffeine.cache.PSAMS"
        })
final class NativeClasses {
    private NativeClasses() {}
}
