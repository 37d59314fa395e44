/** The program's entry point and its commands. Each package beside it holds one feature. */
@NullMarked
package dev.annals;

import org.jspecify.annotations.NullMarked;
