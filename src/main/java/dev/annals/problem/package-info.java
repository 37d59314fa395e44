/** What a client is told when a request cannot be served: RFC 9457 problems, and the one place that answers with them. */
@NullMarked
package dev.annals.problem;

import org.jspecify.annotations.NullMarked;
