package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A part of a document that a test makes: between a comment that has the test's command, and {@code <!-- end -->}. */
public final class WrittenPart {

    private static final String END = "<!-- end -->\n";

    private WrittenPart() {}

    /**
     * Fails unless the part is as made.
     *
     * @param test the test that makes it
     * @param property the system property that has it written first, such as {@code settings.write}
     */
    public static void check(Path document, Class<?> test, String property, String made) throws IOException {
        String page = Files.readString(document);
        String command = "mvn test -Dtest=" + test.getSimpleName() + " -D" + property + "=true";
        String comment = "<!-- begin: written by `" + command + "` -->\n";
        assertThat(page).contains(comment);
        int begin = page.indexOf(comment) + comment.length();
        int end = page.indexOf(END, begin);
        assertThat(end).as("the place of " + END).isNotNegative();
        String written = page.substring(0, begin) + made + page.substring(end);
        if (Boolean.getBoolean(property)) {
            Files.writeString(document, written);
        }
        assertThat(Files.readString(document)).as(document + "; " + command).isEqualTo(written);
    }
}
