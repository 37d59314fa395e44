/** Reading page by page: pages, cursors, links, and records one by one. */
@NullMarked
package dev.annals.feed;

import org.jspecify.annotations.NullMarked;
