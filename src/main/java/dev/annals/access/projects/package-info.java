/** Projects, and the requests that administer them. */
@NullMarked
package dev.annals.access.projects;

import org.jspecify.annotations.NullMarked;
