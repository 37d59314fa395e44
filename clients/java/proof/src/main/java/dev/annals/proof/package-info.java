/**
 * Leaves, Merkle trees, proofs and signed notes, as specified in {@code docs/leaf-format.md}. They verify offline, without a
 * database or a network. The service, its commands and the Java clients share these files, so they use only Java 17 and
 * Jackson's parser.
 */
@NullMarked
package dev.annals.proof;

import org.jspecify.annotations.NullMarked;
