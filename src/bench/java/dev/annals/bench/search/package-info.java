/** What finding records costs, and what the ways to it cost those who append. */
@NullMarked
package dev.annals.bench.search;

import org.jspecify.annotations.NullMarked;
