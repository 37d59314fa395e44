/**
 * Sequence generators: every known trade-off between order, gaps and speed. {@link SequenceKind} says what each promises.
 */
@NullMarked
package dev.annals.core.sequence;

import org.jspecify.annotations.NullMarked;
