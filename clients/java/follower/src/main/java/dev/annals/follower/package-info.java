/** Follows a feed without loss. The commands and the clients in Java share these files, so they use Java 11 alone. */
@NullMarked
package dev.annals.follower;

import org.jspecify.annotations.NullMarked;
