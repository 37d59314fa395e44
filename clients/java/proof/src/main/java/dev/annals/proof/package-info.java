/**
 * What proves a feed: leaves, Merkle trees, proofs and signed notes, as {@code docs/leaf-format.md} specifies them. It uses
 * neither a database nor a network, so that a reader can check offline what a service claims. These files are part of the
 * service, its commands and the clients in Java, so they use nothing but Java 17 and Jackson's parser.
 */
@NullMarked
package dev.annals.proof;

import org.jspecify.annotations.NullMarked;
