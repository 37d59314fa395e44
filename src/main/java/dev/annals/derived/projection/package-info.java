/**
 * Runs everything that is derived from feeds in the background: each record once, in the order of its feed. {@link
 * dev.annals.derived.projection.Projector} finds work, {@link dev.annals.derived.projection.ProjectionSteps} does it.
 */
@NullMarked
package dev.annals.derived.projection;

import org.jspecify.annotations.NullMarked;
