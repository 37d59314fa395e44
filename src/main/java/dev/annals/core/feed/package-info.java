/** Reading page by page: pages, cursors, links, and records one by one. */
@NullMarked
package dev.annals.core.feed;

import org.jspecify.annotations.NullMarked;
