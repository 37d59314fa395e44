/** The OpenID provider: its keys, its tokens, and signing in with it. */
@NullMarked
package dev.annals.access.openid;

import org.jspecify.annotations.NullMarked;
