/**
 * The only package that uses private classes of Vert.x, and the channels of Netty below Vert.x. Each class here keeps a promise
 * that no public interface can keep. {@code QuarantineTest} lists the private classes, why each is needed, and what would
 * replace it.
 */
@NullMarked
package dev.annals.kernel.quarantine;

import org.jspecify.annotations.NullMarked;
