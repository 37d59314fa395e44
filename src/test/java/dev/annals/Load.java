package dev.annals;

/**
 * The number of repetitions of random tests: enough to find the fault that the test is for, or more with {@code
 * -Dtests.long=true}.
 */
public final class Load {

    private static final boolean LONG = Boolean.getBoolean("tests.long");

    private Load() {}

    /** Whether tests are to do more than usual. */
    public static boolean isLong() {
        return LONG;
    }

    /** The number for this run. */
    public static int times(int usual, int longer) {
        return LONG ? longer : usual;
    }
}
