/** Knows in which database each project is. */
@NullMarked
package dev.annals.access.places;

import org.jspecify.annotations.NullMarked;
