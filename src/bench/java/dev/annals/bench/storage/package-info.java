/** The size of records on disk. */
@NullMarked
package dev.annals.bench.storage;

import org.jspecify.annotations.NullMarked;
