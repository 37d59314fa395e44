/** Legal holds. */
@NullMarked
package dev.annals.access.holds;

import org.jspecify.annotations.NullMarked;
