/** Redaction: deletes values of a record. Every proof stays valid. */
@NullMarked
package dev.annals.derived.redaction;

import org.jspecify.annotations.NullMarked;
