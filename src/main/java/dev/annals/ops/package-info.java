/** What operators need: checks of the database. */
@NullMarked
package dev.annals.ops;

import org.jspecify.annotations.NullMarked;
