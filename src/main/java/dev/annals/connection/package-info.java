/** What reaches the service before any request does: connections, their number, and how long they may say nothing. */
@NullMarked
package dev.annals.connection;

import org.jspecify.annotations.NullMarked;
