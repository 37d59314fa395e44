/** Reads feeds over HTTP: pages, single records, long polls and streams. Begin with {@link dev.annals.core.feed.FeedReader}. */
@NullMarked
package dev.annals.core.feed;

import org.jspecify.annotations.NullMarked;
