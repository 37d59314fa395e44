/** The cost of a page of the feed at the level of SQL. */
@NullMarked
package dev.annals.bench.pages;

import org.jspecify.annotations.NullMarked;
