/**
 * Each feed as a verifiable log: its Merkle tree, signed checkpoints, witnesses, and proofs over HTTP. {@code dev.annals.proof} defines the
 * hashes, and how a reader verifies them.
 *
 * <p>Read {@link dev.annals.derived.log.LogTree}, which grows the tree, then {@link dev.annals.derived.log.CheckpointSigner}, then {@link
 * dev.annals.derived.log.Checkpoints}, which answers readers.
 */
@NullMarked
package dev.annals.derived.log;

import org.jspecify.annotations.NullMarked;
