/** The audit record: what it contains, how it is read from a client's JSON, and how it is written for clients. */
@NullMarked
package dev.annals.core.record;

import org.jspecify.annotations.NullMarked;
