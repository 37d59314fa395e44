/** The oldest records of feeds go once they are older than their project says. */
@NullMarked
package dev.annals.derived.retention;

import org.jspecify.annotations.NullMarked;
