/** The cost of the service as its database grows. */
@NullMarked
package dev.annals.bench.scale;

import org.jspecify.annotations.NullMarked;
