/** The viewer: static files under META-INF/resources, and how they are served. */
@NullMarked
package dev.annals.edges.viewer;

import org.jspecify.annotations.NullMarked;
