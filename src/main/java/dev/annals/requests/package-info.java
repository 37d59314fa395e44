/** What is said of each request: one line in the log, and metrics of refusals and times. */
@NullMarked
package dev.annals.requests;

import org.jspecify.annotations.NullMarked;
