/** Streams: feeds that are delivered to sinks elsewhere, in their order. */
@NullMarked
package dev.annals.edges.delivery;

import org.jspecify.annotations.NullMarked;
