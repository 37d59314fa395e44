/** Everything derived from feeds in the background: each record once, in sequence order. */
@NullMarked
package dev.annals.derived.projection;

import org.jspecify.annotations.NullMarked;
