/** Projects, tokens, and who may do what. */
@NullMarked
package dev.annals.access.project;

import org.jspecify.annotations.NullMarked;
