/** Limits of projects and tokens. */
@NullMarked
package dev.annals.access.limits;

import org.jspecify.annotations.NullMarked;
