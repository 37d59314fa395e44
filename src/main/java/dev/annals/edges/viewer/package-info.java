/** The viewer: routes of its static files under META-INF/resources, and links to it. */
@NullMarked
package dev.annals.edges.viewer;

import org.jspecify.annotations.NullMarked;
