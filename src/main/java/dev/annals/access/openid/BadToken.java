package dev.annals.access.openid;

/** A token that does not count. The message says why, to the sender. */
public final class BadToken extends Exception {

    private static final long serialVersionUID = 1;

    BadToken(String why) {
        super(why);
    }
}
