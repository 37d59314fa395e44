/** The cost of order at the level of SQL. */
@NullMarked
package dev.annals.bench.ordering;

import org.jspecify.annotations.NullMarked;
