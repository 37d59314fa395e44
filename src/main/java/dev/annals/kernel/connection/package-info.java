/** What comes before any request: connections, how many there may be, and how long they may stay silent. */
@NullMarked
package dev.annals.kernel.connection;

import org.jspecify.annotations.NullMarked;
