/** The way out: pages, search, long polls and streams, their cursors and links. */
@NullMarked
package dev.annals.feed;

import org.jspecify.annotations.NullMarked;
