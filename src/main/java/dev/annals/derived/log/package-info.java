/**
 * Each feed as a verifiable log: the tree behind the commits, signed checkpoints, and proofs over HTTP. What is hashed, and how a
 * reader checks it, is in {@code dev.annals.proof}.
 */
@NullMarked
package dev.annals.derived.log;

import org.jspecify.annotations.NullMarked;
