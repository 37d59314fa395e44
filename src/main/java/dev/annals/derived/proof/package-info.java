/**
 * What proves a feed: leaves, Merkle trees, proofs and signed notes, as {@code docs/leaf-format.md} specifies them. It uses
 * neither a database nor a network, so that a reader can check offline what a service claims.
 */
@NullMarked
package dev.annals.derived.proof;

import org.jspecify.annotations.NullMarked;
