/** The way out: pages, cursors and their links. */
@NullMarked
package dev.annals.feed;

import org.jspecify.annotations.NullMarked;
