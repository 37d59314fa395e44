/** How much projects and tokens may use. */
@NullMarked
package dev.annals.access.limits;

import org.jspecify.annotations.NullMarked;
