/** Counts of the records that pass a filter, by the values of their fields and by time, made on request. */
@NullMarked
package dev.annals.derived.facets;

import org.jspecify.annotations.NullMarked;
