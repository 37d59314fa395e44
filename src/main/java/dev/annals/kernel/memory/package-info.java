/** The limit on the memory of all requests together: {@link dev.annals.kernel.memory.MemoryBudget}. */
@NullMarked
package dev.annals.kernel.memory;

import org.jspecify.annotations.NullMarked;
