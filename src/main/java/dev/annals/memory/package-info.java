/** What bounds the memory of all requests together: {@link dev.annals.memory.MemoryBudget}. */
@NullMarked
package dev.annals.memory;

import org.jspecify.annotations.NullMarked;
