/** Reading that waits: the watch of feeds' heads, long polls and streams. */
@NullMarked
package dev.annals.live;

import org.jspecify.annotations.NullMarked;
