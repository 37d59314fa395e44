/** Admission of requests: by a token of the service or of the OpenID provider, or by a session of the viewer. */
@NullMarked
package dev.annals.access.sessions;

import org.jspecify.annotations.NullMarked;
