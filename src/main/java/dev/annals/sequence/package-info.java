/**
 * Sequence generators: every known trade-off between order, gaps and speed. {@link SequenceKind} says what each promises.
 */
@NullMarked
package dev.annals.sequence;

import org.jspecify.annotations.NullMarked;
