/** The command {@code sequence-benchmark}: how fast each kind of sequence is, next to its limit. */
@NullMarked
package dev.annals.tools.benchmark;

import org.jspecify.annotations.NullMarked;
