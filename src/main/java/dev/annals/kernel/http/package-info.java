/** Problems (RFC 9457), bodies, addresses and times of requests and answers. */
@NullMarked
package dev.annals.kernel.http;

import org.jspecify.annotations.NullMarked;
