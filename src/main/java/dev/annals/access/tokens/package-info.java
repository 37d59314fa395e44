/** Tokens: how they are issued, checked, and watched while a request lasts. */
@NullMarked
package dev.annals.access.tokens;

import org.jspecify.annotations.NullMarked;
