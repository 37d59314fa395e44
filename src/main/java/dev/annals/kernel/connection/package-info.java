/** Limits on connections: how many may be open, and for how long they may be silent. */
@NullMarked
package dev.annals.kernel.connection;

import org.jspecify.annotations.NullMarked;
