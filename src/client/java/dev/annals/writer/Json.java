package dev.annals.writer;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;

/**
 * Writes JSON that the service takes, whatever the values are. What JSON or the service has no place for is replaced: NUL and
 * halves of a surrogate pair by U+FFFD, numbers that are none by their text, what is nested too deeply by "…". Otherwise
 * whoever chooses a value, such as the name of a user, could have the record of his own deed refused.
 */
// Java 11 has no patterns.
@SuppressWarnings("PatternMatchingInstanceof")
final class Json {

    /** Of metadata, counting the metadata itself: the service takes no more. */
    static final int MAX_DEPTH = 32;

    private static final char REPLACEMENT = '\uFFFD';
    private static final char[] HEX = "0123456789abcdef".toCharArray();

    private Json() {}

    static void field(StringBuilder out, String name, CharSequence value) {
        separate(out);
        string(out, name);
        out.append(':');
        string(out, value);
    }

    static void object(StringBuilder out, String name, Map<?, ?> value) {
        separate(out);
        string(out, name);
        out.append(':');
        value(out, value, 1);
    }

    private static void separate(StringBuilder out) {
        if (out.length() > 0 && out.charAt(out.length() - 1) != '{') {
            out.append(',');
        }
    }

    static void string(StringBuilder out, CharSequence text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c == 0) {
                out.append(REPLACEMENT);
            } else if (c < ' ') {
                out.append("\\u00").append(HEX[c >> 4]).append(HEX[c & 15]);
            } else if (!Character.isSurrogate(c)) {
                out.append(c);
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1))) {
                out.append(c).append(text.charAt(++i));
            } else {
                out.append(REPLACEMENT);
            }
        }
        out.append('"');
    }

    static void value(StringBuilder out, Object value, int depth) {
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Number) {
            number(out, (Number) value);
        } else if (value instanceof Map
                || value instanceof Iterable
                || value.getClass().isArray()) {
            if (depth > MAX_DEPTH) {
                out.append("\"…\"");
            } else if (value instanceof Map) {
                map(out, (Map<?, ?>) value, depth);
            } else if (value instanceof Iterable) {
                list(out, (Iterable<?>) value, depth);
            } else {
                array(out, value, depth);
            }
        } else {
            string(out, value instanceof CharSequence ? (CharSequence) value : String.valueOf(value));
        }
    }

    private static void number(StringBuilder out, Number number) {
        boolean exact = number instanceof Integer
                || number instanceof Long
                || number instanceof Short
                || number instanceof Byte
                || number instanceof BigInteger
                || number instanceof BigDecimal;
        // Others: Double and Float, which may be no number, and those of any library, which may print anything.
        boolean finite = (number instanceof Double || number instanceof Float) && Double.isFinite(number.doubleValue());
        if (exact || finite) {
            out.append(number);
        } else {
            string(out, String.valueOf(number));
        }
    }

    private static void map(StringBuilder out, Map<?, ?> map, int depth) {
        out.append('{');
        String next = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(next);
            string(out, String.valueOf(entry.getKey()));
            out.append(':');
            value(out, entry.getValue(), depth + 1);
            next = ",";
        }
        out.append('}');
    }

    private static void list(StringBuilder out, Iterable<?> values, int depth) {
        out.append('[');
        String next = "";
        for (Object value : values) {
            out.append(next);
            value(out, value, depth + 1);
            next = ",";
        }
        out.append(']');
    }

    private static void array(StringBuilder out, Object array, int depth) {
        out.append('[');
        for (int i = 0; i < Array.getLength(array); i++) {
            out.append(i == 0 ? "" : ",");
            value(out, Array.get(array, i), depth + 1);
        }
        out.append(']');
    }
}
