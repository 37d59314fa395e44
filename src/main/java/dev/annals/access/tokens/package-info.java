/** Tokens of the service: their form, their look-up, and their end. */
@NullMarked
package dev.annals.access.tokens;

import org.jspecify.annotations.NullMarked;
