/** Moves a project from one database to another while it is written and read. */
@NullMarked
package dev.annals.derived.move;

import org.jspecify.annotations.NullMarked;
