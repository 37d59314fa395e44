/** The command {@code sequence-benchmark}: how fast each kind of sequence is, beside what bounds it. */
@NullMarked
package dev.annals.benchmark;

import org.jspecify.annotations.NullMarked;
