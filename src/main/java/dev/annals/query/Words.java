package dev.annals.query;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/** Divides text into words where {@code annals.words()} of the schema does, whose words are in lower case besides. */
final class Words {

    private static final String SPACES = "\\t-\\r \\x{85}\\x{a0}\\x{2028}-\\x{202f}\\x{3000}";

    private static final Pattern SPACE = Pattern.compile("[" + SPACES + "]");

    private static final Pattern BETWEEN = Pattern.compile(
            "[" + SPACES + "!\"#$%&'()*+,./:;<=>?@\\[\\\\\\]^_`{|}~\\x{a1}\\x{ab}\\x{bb}\\x{bf}\\x{2010}-\\x{2027}"
                    + "\\x{2039}\\x{203a}\\x{2e3a}\\x{2e3b}\\x{3001}\\x{3002}\\x{300c}-\\x{300f}-]+");

    private Words() {}

    static List<String> of(String text) {
        return Arrays.stream(BETWEEN.split(text, -1))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    /** Whether a character is white space, which ends a term. */
    static boolean isSpace(char c) {
        return SPACE.matcher(String.valueOf(c)).matches();
    }
}
