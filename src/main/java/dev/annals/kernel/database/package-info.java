/** The connections to PostgreSQL: one URL, for the migrations and for the pools. */
@NullMarked
package dev.annals.kernel.database;

import org.jspecify.annotations.NullMarked;
