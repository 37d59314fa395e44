/** Retention: removes the oldest records of a feed once they are older than its project keeps them. */
@NullMarked
package dev.annals.derived.retention;

import org.jspecify.annotations.NullMarked;
