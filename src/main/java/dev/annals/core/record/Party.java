package dev.annals.core.record;

import org.jspecify.annotations.Nullable;

/**
 * Who acted, or what was acted upon. At least one component is there.
 *
 * @param type the kind of thing, such as {@code user}; up to 255 characters
 * @param id its id in the client's system; up to 1,024 characters
 * @param name what people call it; up to 1,024 characters
 */
public record Party(
        @Nullable String type,
        @Nullable String id,
        @Nullable String name) {}
