/** What operators run: migrate, verify, and the check at every start. */
@NullMarked
package dev.annals.ops;

import org.jspecify.annotations.NullMarked;
