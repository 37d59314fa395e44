/** The index behind filters. */
@NullMarked
package dev.annals.derived.search;

import org.jspecify.annotations.NullMarked;
