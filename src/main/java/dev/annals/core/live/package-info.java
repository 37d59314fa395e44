/** Reading that waits: long polls, streams, and the watch over the heads of feeds. */
@NullMarked
package dev.annals.core.live;

import org.jspecify.annotations.NullMarked;
