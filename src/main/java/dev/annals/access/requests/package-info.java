/** The log, with one line for each request, and metrics of refusals and times. */
@NullMarked
package dev.annals.access.requests;

import org.jspecify.annotations.NullMarked;
