/** Projects, tokens, and who may do what. */
@NullMarked
package dev.annals.project;

import org.jspecify.annotations.NullMarked;
