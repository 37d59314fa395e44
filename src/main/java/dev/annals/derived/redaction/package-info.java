/** Redaction: the values of some fields of a record go, and every proof stays valid. */
@NullMarked
package dev.annals.derived.redaction;

import org.jspecify.annotations.NullMarked;
