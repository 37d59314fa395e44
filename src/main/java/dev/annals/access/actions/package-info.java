/** Catalogues of actions: what the actions of a project mean, and which metadata they have. */
@NullMarked
package dev.annals.access.actions;

import org.jspecify.annotations.NullMarked;
