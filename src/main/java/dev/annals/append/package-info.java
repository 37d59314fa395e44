/** The way into the feed: requests, their queue, and the batches that are committed. */
@NullMarked
package dev.annals.append;

import org.jspecify.annotations.NullMarked;
