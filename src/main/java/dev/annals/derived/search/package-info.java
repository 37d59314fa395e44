/** The index behind filters, and what a page with filters looks at. */
@NullMarked
package dev.annals.derived.search;

import org.jspecify.annotations.NullMarked;
