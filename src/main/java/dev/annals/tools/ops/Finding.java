package dev.annals.tools.ops;

/**
 * A result of {@link Doctor}.
 *
 * @param found a sentence about the deployment, without secrets
 * @param mend the setting, file or command that mends it; empty if nothing has to be mended
 */
record Finding(String check, State state, String found, String mend) {

    enum State {
        OK,
        WARNING,
        MISSING
    }

    static Finding ok(String check, String found) {
        return new Finding(check, State.OK, found, "");
    }

    static Finding warning(String check, String found, String mend) {
        return new Finding(check, State.WARNING, found, mend);
    }

    static Finding missing(String check, String found, String mend) {
        return new Finding(check, State.MISSING, found, mend);
    }
}
