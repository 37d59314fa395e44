/** Projects, their tokens, and the first start of a database. */
@NullMarked
package dev.annals.access.projects;

import org.jspecify.annotations.NullMarked;
