/** The caller of a request and its scopes. */
@NullMarked
package dev.annals.access.caller;

import org.jspecify.annotations.NullMarked;
