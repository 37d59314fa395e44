/** How many records pass a filter, by the values of their fields and by time: counted when it is asked for. */
@NullMarked
package dev.annals.derived.facets;

import org.jspecify.annotations.NullMarked;
