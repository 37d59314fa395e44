/** The language in which records are searched for: what the parameter {@code q} says, without a database. */
@NullMarked
package dev.annals.core.query;

import org.jspecify.annotations.NullMarked;
