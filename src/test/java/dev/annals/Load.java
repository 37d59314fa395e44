package dev.annals;

/**
 * How much a test does of what it repeats at random: enough to find what it is for, or, with {@code -Dtests.long=true},
 * more of the same.
 */
public final class Load {

    private static final boolean LONG = Boolean.getBoolean("tests.long");

    private Load() {}

    /** Whether tests are to do more than usual. */
    public static boolean isLong() {
        return LONG;
    }

    /** How often, or how much. */
    public static int times(int usual, int longer) {
        return LONG ? longer : usual;
    }
}
