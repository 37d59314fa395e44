/** Who sent a request, and what the caller may do. */
@NullMarked
package dev.annals.access.caller;

import org.jspecify.annotations.NullMarked;
