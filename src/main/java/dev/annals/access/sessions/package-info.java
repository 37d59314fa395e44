/** How a request is let in: by its token, by the session of a person in the viewer, or as an identity of a provider. */
@NullMarked
package dev.annals.access.sessions;

import org.jspecify.annotations.NullMarked;
