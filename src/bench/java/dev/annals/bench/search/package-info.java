/** The cost of finding records, and the cost of indexes for writers. */
@NullMarked
package dev.annals.bench.search;

import org.jspecify.annotations.NullMarked;
