/** Counts of records by day, action, actor and outcome. */
@NullMarked
package dev.annals.derived.statistics;

import org.jspecify.annotations.NullMarked;
