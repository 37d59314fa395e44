package dev.annals.access.sessions;

import jakarta.ws.rs.core.Cookie;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The cookie of somebody who has signed in to the viewer: the provider's ID token, which is checked with every request, as bearer
 * tokens are. Scripts cannot read it, and requests that begin on other sites do not carry it.
 */
public final class Session {

    /** Browsers take this name only over TLS, for this host alone. */
    private static final String NAME = "__Host-annals-session";
    /** For http on the loopback. */
    private static final String PLAIN_NAME = "annals-session";

    private Session() {}

    /** The name of the cookie. */
    public static String name(boolean isSecure) {
        return isSecure ? NAME : PLAIN_NAME;
    }

    /** With TLS, no other cookie counts: a neighbouring host could have set it. */
    static @Nullable Cookie cookie(Map<String, Cookie> cookies, boolean isSecure) {
        return cookies.get(name(isSecure));
    }
}
