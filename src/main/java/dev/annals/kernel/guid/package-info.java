/** Keys: unique across processes, strictly increasing within one, close to the end of an index. */
@NullMarked
package dev.annals.kernel.guid;

import org.jspecify.annotations.NullMarked;
