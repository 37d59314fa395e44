/** What a client is told when a request cannot be served: RFC 9457 problems, and what answers with them. */
@NullMarked
package dev.annals.kernel.http;

import org.jspecify.annotations.NullMarked;
