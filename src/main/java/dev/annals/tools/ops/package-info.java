/** Commands of operators, verification in the background, and health. */
@NullMarked
package dev.annals.tools.ops;

import org.jspecify.annotations.NullMarked;
