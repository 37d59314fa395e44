/** Appends records: requests wait in queues, and batches of them are committed. */
@NullMarked
package dev.annals.core.append;

import org.jspecify.annotations.NullMarked;
