package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Writes JSON that the service accepts for any values: an attacker who chooses a value must not get the record refused. NUL and lone
 * surrogates become U+FFFD, numbers outside of the service's range become their text. Cyclic values and those that are too deep, too many
 * or too long are cut, with a mark.
 */
// Java 11 has no patterns.
@SuppressWarnings("PatternMatchingInstanceof")
final class Json {

    /** Counts the metadata itself. */
    static final int MAX_DEPTH = 32;

    static final int MAX_VALUES = 4_096;

    private static final String CUT = "…";
    private static final String CUT_VALUES = "(cut)";
    private static final char REPLACEMENT = '\uFFFD';
    private static final String SHORT = "\"\\\b\f\n\r\t";
    private static final String SHORT_NAMES = "\"\\bfnrt";
    private static final char[] HEX = "0123456789abcdef".toCharArray();
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]{1,9})?");
    private static final BigDecimal MAX_NUMBER = new BigDecimal("1.7976931348623157e308");
    private static final int MAX_NUMBER_LENGTH = 400;
    /** A longer number takes too long to convert to text. */
    private static final int MAX_NUMBER_BITS = 13_000;
    /** The service takes 131,072 bytes of metadata, written out with escapes and without exponents. */
    private static final int MAX_GROWTH = 60_000;

    private static final int MAX_KEY = 1_024;
    private static final int MARK_BYTES = 80;
    private static final int SHORTEST_CUT = 40;

    private final StringBuilder out = new StringBuilder();
    /** The containers that are being written, to find cycles. */
    private final Deque<Object> path = new ArrayDeque<>();

    private int bytesLeft;
    // The service does not count the metadata itself.
    private int valuesLeft = MAX_VALUES + 1;
    private int growthLeft = MAX_GROWTH;

    /** Whether to cut and to reserve room for a mark in each container. */
    private final boolean cuts;

    private Json(int maxBytes, boolean cuts) {
        bytesLeft = maxBytes;
        this.cuts = cuts;
    }

    /** The entries of both, in at most {@code maxBytes}; null if there are none. */
    static String object(Map<?, ?> first, Map<?, ?> second, int maxBytes) {
        // Without cutting, no room for marks is needed.
        Json json = new Json(maxBytes, false);
        if (!json.container(second, both(first, second), true, 1)) {
            json = new Json(maxBytes, true);
            json.container(second, both(first, second), true, 1);
        }
        return json.out.length() > 2 ? json.out.toString() : null;
    }

    private static Iterator<?> both(Map<?, ?> first, Map<?, ?> second) {
        Iterator<?> start = first.entrySet().iterator();
        return new Iterator<Object>() {
            private Iterator<?> rest;

            @Override
            public boolean hasNext() {
                if (!start.hasNext() && rest == null) {
                    rest = second.entrySet().iterator();
                }
                return start.hasNext() || rest.hasNext();
            }

            @Override
            public Object next() {
                return start.hasNext() ? start.next() : rest.next();
            }
        };
    }

    /** In quotes, in at most {@code maxBytes} as stored. */
    static String string(CharSequence text, int maxBytes) {
        StringBuilder out = new StringBuilder();
        string(out, text, maxBytes, Integer.MAX_VALUE);
        return out.toString();
    }

    /** The bytes as the service counts them: without escapes. */
    static int stored(String json) {
        return json.getBytes(UTF_8).length - growth(json, 0);
    }

    /** The bytes that escapes add to the characters they encode. */
    private static int growth(CharSequence json, int from) {
        int growth = 0;
        for (int i = from; i < json.length(); i++) {
            if (json.charAt(i) == '\\') {
                i++;
                growth += json.charAt(i) == 'u' ? 5 : 1;
            }
        }
        return growth;
    }

    /** Replaces characters that the service refuses. */
    static String fit(CharSequence text, int maxCharacters) {
        StringBuilder fit = new StringBuilder();
        int end = 0;
        int count = 0;
        for (int i = 0; i < text.length(); i++) {
            if (count == maxCharacters) {
                return fit.replace(end, fit.length(), CUT).toString();
            }
            end = fit.length();
            count++;
            i += character(fit, text, i) - 1;
        }
        return fit.toString();
    }

    private static int character(StringBuilder out, CharSequence text, int at) {
        char c = text.charAt(at);
        if (Character.isHighSurrogate(c) && at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1))) {
            out.append(c).append(text.charAt(at + 1));
            return 2;
        }
        out.append(c == 0 || Character.isSurrogate(c) ? REPLACEMENT : c);
        return 1;
    }

    /** Returns the bytes as stored, negative if the text was cut. */
    private static int string(StringBuilder out, CharSequence text, int maxBytes, int maxGrowth) {
        out.append('"');
        int bytes = 2;
        int growth = 0;
        int cutAt = out.length();
        int bytesBeforeCut = bytes;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int at = SHORT.indexOf(c);
            if (at >= 0) {
                out.append('\\').append(SHORT_NAMES.charAt(at));
                bytes++;
                growth++;
            } else if (c > 0 && c < ' ') {
                out.append("\\u00").append(HEX[c >> 4]).append(HEX[c & 15]);
                bytes++;
                growth += 5;
            } else {
                int chars = character(out, text, i);
                i += chars - 1;
                c = out.charAt(out.length() - 1);
                bytes += chars == 2 ? 4 : c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
            }
            if (bytes > maxBytes || growth > maxGrowth) {
                out.setLength(cutAt);
                out.append(CUT).append('"');
                return -bytesBeforeCut - 3;
            }
            if (bytes + 3 <= maxBytes) {
                cutAt = out.length();
                bytesBeforeCut = bytes;
            }
        }
        out.append('"');
        return bytes;
    }

    /** Returns false, and writes nothing, if the value does not fit. */
    private boolean value(Object value, int depth) {
        int[] before = state();
        int levels = path.size();
        try {
            Object plain = Values.plain(value);
            if (plain == null || plain instanceof Boolean) {
                return literal(String.valueOf(plain));
            }
            if (plain instanceof Number) {
                return number((Number) plain);
            }
            if (plain instanceof CharSequence) {
                return text((CharSequence) plain);
            }
            boolean isObject = plain instanceof Map;
            Iterator<?> parts = isObject ? ((Map<?, ?>) plain).entrySet().iterator() : ((Iterable<?>) plain).iterator();
            return container(value, parts, isObject, depth);
        } catch (Throwable e) {
            restore(before);
            while (path.size() > levels) {
                path.pop();
            }
            return text(Values.unreadable(e));
        }
    }

    private int[] state() {
        return new int[] {out.length(), bytesLeft, valuesLeft, growthLeft};
    }

    private void restore(int[] state) {
        out.setLength(state[0]);
        bytesLeft = state[1];
        valuesLeft = state[2];
        growthLeft = state[3];
    }

    private boolean literal(String ascii) {
        if (valuesLeft < 1 || bytesLeft < ascii.length()) {
            return false;
        }
        out.append(ascii);
        bytesLeft -= ascii.length();
        valuesLeft--;
        return true;
    }

    private boolean text(CharSequence text) {
        int start = out.length();
        if (valuesLeft < 1) {
            return false;
        }
        int bytes = string(out, text, bytesLeft, growthLeft);
        if (bytes < 0 && cuts && bytesLeft >= SHORTEST_CUT) {
            bytes = -bytes;
        }
        if (bytes < 0 || bytes > bytesLeft) {
            out.setLength(start);
            return false;
        }
        bytesLeft -= bytes;
        growthLeft -= growth(out, start);
        valuesLeft--;
        return true;
    }

    private boolean number(Number number) {
        BigInteger digits = number instanceof BigDecimal
                ? ((BigDecimal) number).unscaledValue()
                : number instanceof BigInteger ? (BigInteger) number : BigInteger.ZERO;
        if (digits.bitLength() > MAX_NUMBER_BITS) {
            return text("(a number of more than 3,900 digits)");
        }
        String text = String.valueOf(number);
        if (text.length() <= MAX_NUMBER_LENGTH && NUMBER.matcher(text).matches()) {
            BigDecimal exact = new BigDecimal(text);
            long before = (long) exact.precision() - exact.scale();
            long written = Math.max(exact.precision(), Math.max(before, exact.scale())) + 3;
            long growth = text.indexOf('e') < 0 && text.indexOf('E') < 0 ? 0 : written;
            if (written <= MAX_NUMBER_LENGTH
                    && growth <= growthLeft
                    && exact.abs().compareTo(MAX_NUMBER) <= 0) {
                growthLeft -= (int) growth;
                return literal(text);
            }
        }
        return text(text);
    }

    private boolean container(Object self, Iterator<?> parts, boolean isObject, int depth) {
        if (depth > MAX_DEPTH) {
            return text(CUT);
        }
        for (Object outer : path) {
            if (outer == self) {
                return text("(cyclic)");
            }
        }
        int[] before = state();
        if (!literal(isObject ? "{}" : "[]") || !reserve(-1)) {
            restore(before);
            return false;
        }
        out.setLength(out.length() - 1);
        path.push(self);
        boolean closed = parts(parts, isObject, depth);
        path.pop();
        out.append(isObject ? '}' : ']');
        return closed;
    }

    /** Reserves the room of a mark, or releases it. */
    private boolean reserve(int sign) {
        if (cuts) {
            bytesLeft += sign * MARK_BYTES;
            valuesLeft += sign * 2;
        }
        return bytesLeft >= 0 && valuesLeft >= 0;
    }

    /** Writes the parts that fit, and a mark if others do not. */
    private boolean parts(Iterator<?> parts, boolean isObject, int depth) {
        Set<String> names = new HashSet<>();
        String mark = null;
        boolean isFirst = true;
        try {
            while (mark == null && parts.hasNext()) {
                Object part = parts.next();
                int[] start = state();
                if (part(part, names, isObject, isFirst, depth)) {
                    isFirst = false;
                } else {
                    restore(start);
                    mark = CUT_VALUES;
                }
            }
        } catch (Throwable e) {
            // Another thread may change the map. The entries read so far stay.
            mark = Values.unreadable(e);
        }
        reserve(1);
        return mark == null || (cuts && part(isObject ? Map.entry(CUT, mark) : mark, names, isObject, isFirst, depth));
    }

    private boolean part(Object part, Set<String> names, boolean isObject, boolean isFirst, int depth) {
        if (!isFirst) {
            out.append(',');
            bytesLeft--;
        }
        return bytesLeft >= 0 && (isObject ? entry((Map.Entry<?, ?>) part, names, depth) : value(part, depth + 1));
    }

    private boolean entry(Map.Entry<?, ?> entry, Set<String> names, int depth) {
        String name = name(entry.getKey(), depth);
        String unique = name;
        for (int i = 2; names.contains(unique); i++) {
            unique = name + " (" + i + ")";
        }
        String json = string(unique, Integer.MAX_VALUE);
        int bytes = stored(json) + 1;
        int growth = growth(json, 0);
        if (bytes > bytesLeft || growth > growthLeft || valuesLeft < 2) {
            return false;
        }
        out.append(json).append(':');
        bytesLeft -= bytes;
        growthLeft -= growth;
        valuesLeft--;
        if (!value(entry.getValue(), depth + 1)) {
            return false;
        }
        names.add(unique);
        return true;
    }

    /** A name is the text of what the key would be as a value. */
    private String name(Object key, int depth) {
        Object plain;
        try {
            plain = Values.plain(key);
        } catch (Throwable e) {
            plain = Values.unreadable(e);
        }
        if (plain instanceof CharSequence) {
            return fit((CharSequence) plain, MAX_KEY);
        }
        Json json = new Json(MAX_KEY, true);
        path.descendingIterator().forEachRemaining(json.path::push);
        json.value(key, depth + 1);
        String name = json.out.toString();
        // The text of a number, or a mark, has no escapes.
        return name.startsWith("\"") ? name.substring(1, name.length() - 1) : name;
    }
}
