/** How many records there are, by day, action, actor and outcome. */
@NullMarked
package dev.annals.statistics;

import org.jspecify.annotations.NullMarked;
