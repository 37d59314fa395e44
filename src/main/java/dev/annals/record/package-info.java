/** The audit record: what it holds, how it is read from a client's JSON, and how it is written for one. */
@NullMarked
package dev.annals.record;

import org.jspecify.annotations.NullMarked;
