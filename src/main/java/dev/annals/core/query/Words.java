package dev.annals.core.query;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Divides text into words where {@code annals.words()} of the schema does, whose words are folded besides: so what folds to nothing but
 * punctuation stands between words, too.
 */
final class Words {

    private static final String SPACES =
            "\\t-\\r \\x{85}\\x{a0}\\x{2000}-\\x{200a}\\x{2028}-\\x{202f}\\x{205f}\\x{3000}";

    /** Compatibility characters, such as those of full width. */
    private static final String FOLDED =
            "\\x{37e}\\x{1fef}\\x{203c}\\x{2047}-\\x{2049}\\x{207a}\\x{207c}-\\x{207e}\\x{208a}\\x{208c}-\\x{208e}\\x{2a74}-\\x{2a76}"
                    + "\\x{fb29}\\x{fe10}-\\x{fe16}\\x{fe19}\\x{fe30}-\\x{fe38}\\x{fe41}-\\x{fe44}\\x{fe47}-\\x{fe48}\\x{fe4d}-\\x{fe52}\\x{fe54}-\\x{fe5c}"
                    + "\\x{fe5f}-\\x{fe66}\\x{fe68}-\\x{fe6b}\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff20}\\x{ff3b}-\\x{ff40}\\x{ff5b}-\\x{ff5e}\\x{ff61}-\\x{ff64}";

    private static final Pattern SPACE = Pattern.compile("[" + SPACES + "]");

    private static final Pattern BETWEEN = Pattern.compile(
            "[" + SPACES + "!\"#$%&'()*+,./:;<=>?@\\[\\\\\\]^_`{|}~\\x{a1}\\x{ab}\\x{bb}\\x{bf}\\x{2010}-\\x{2027}"
                    + "\\x{2039}\\x{203a}\\x{2e3a}\\x{2e3b}\\x{3001}\\x{3002}\\x{300c}-\\x{300f}"
                    + FOLDED + "-]+");

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
