/** What operators use: migrate, verify, and what the service says of its health. */
@NullMarked
package dev.annals.tools.ops;

import org.jspecify.annotations.NullMarked;
