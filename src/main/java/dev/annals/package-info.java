/** The service's entry point and its settings. Each package beside it holds one feature. */
@NullMarked
package dev.annals;

import org.jspecify.annotations.NullMarked;
