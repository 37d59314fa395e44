/** Tokens of an OpenID provider: its keys, what its tokens say, and signing in with it. */
@NullMarked
package dev.annals.access.openid;

import org.jspecify.annotations.NullMarked;
