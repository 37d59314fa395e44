/** What a page of the feed costs at the level of SQL. */
@NullMarked
package dev.annals.bench.pages;

import org.jspecify.annotations.NullMarked;
