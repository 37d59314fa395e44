/** The way into the feed: requests, their queues, and the batches that are committed. */
@NullMarked
package dev.annals.core.append;

import org.jspecify.annotations.NullMarked;
