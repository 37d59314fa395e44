/** Grants, which open projects to identities of an OpenID provider. */
@NullMarked
package dev.annals.access.grants;

import org.jspecify.annotations.NullMarked;
