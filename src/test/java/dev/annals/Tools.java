package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Programs that some tests need and a machine may lack. Without them the tests are skipped with a reason; with {@code
 * -Dtools.required=true} they fail.
 */
public final class Tools {

    private static final boolean REQUIRED = Boolean.getBoolean("tools.required");

    private Tools() {}

    /** Goes on where {@code what} is there. */
    public static void need(boolean isThere, String what) {
        if (REQUIRED) {
            assertThat(isThere).as("this needs " + what).isTrue();
        }
        assumeTrue(isThere, "this needs " + what);
    }
}
