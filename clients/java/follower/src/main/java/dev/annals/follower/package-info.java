/**
 * How a feed is followed without loss, for the commands and for the clients in Java: these files are part of both, so they use
 * nothing but Java 11.
 */
@NullMarked
package dev.annals.follower;

import org.jspecify.annotations.NullMarked;
