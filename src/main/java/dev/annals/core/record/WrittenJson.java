package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;

/**
 * How long JSON is as PostgreSQL's {@code jsonb} writes it: numbers without an exponent and with all their decimals, a space
 * after each comma and colon, and only those characters escaped that have to be. It is computed without writing anything.
 */
final class WrittenJson {

    /** Beyond any limit, and still far from an overflow. */
    private static final long HUGE = 1_000_000_000;

    private WrittenJson() {}

    /** How many characters the JSON number in {@code text}, from {@code from} to before {@code to}, is written with. */
    static long number(char[] text, int from, int to) {
        boolean negative = text[from] == '-';
        int integerDigits = 0;
        int fractionDigits = 0;
        int leadingZeros = 0;
        boolean zero = true;
        boolean inFraction = false;
        int at = negative ? from + 1 : from;
        for (; at < to && text[at] != 'e' && text[at] != 'E'; at++) {
            if (text[at] == '.') {
                inFraction = true;
                continue;
            }
            zero &= text[at] == '0';
            leadingZeros += zero ? 1 : 0;
            fractionDigits += inFraction ? 1 : 0;
            integerDigits += inFraction ? 0 : 1;
        }
        long exponent = exponent(text, at + 1, to);
        long integer = zero ? 1 : Math.max(1, integerDigits + exponent - leadingZeros);
        long fraction = Math.max(0, fractionDigits - exponent);
        return (negative && !zero ? 1 : 0) + integer + (fraction > 0 ? 1 + fraction : 0);
    }

    private static long exponent(char[] text, int from, int to) {
        long exponent = 0;
        boolean negative = false;
        for (int at = from; at < to; at++) {
            if (text[at] == '-') {
                negative = true;
            } else if (text[at] != '+') {
                exponent = Math.min(HUGE, exponent * 10 + text[at] - '0');
            }
        }
        return negative ? -exponent : exponent;
    }

    /**
     * How many bytes of UTF-8 an object is written with.
     *
     * @param json at most {@link RecordParser#MAX_DEPTH} levels deep, with no key twice
     */
    static long object(String json) {
        try (JsonParser parser = JsonValues.JSON.createParser(json)) {
            return object(parser);
        } catch (IOException e) {
            throw new IllegalArgumentException("no JSON", e);
        }
    }

    private static long object(JsonParser json) throws IOException {
        boolean[] inArray = new boolean[RecordParser.MAX_DEPTH + 1];
        boolean[] begun = new boolean[RecordParser.MAX_DEPTH + 1];
        int depth = 0;
        long bytes = 0;
        for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
            if (token == JsonToken.FIELD_NAME || (inArray[depth] && !token.isStructEnd())) {
                bytes += begun[depth] ? 2 : 0;
                begun[depth] = true;
            }
            switch (token) {
                case START_OBJECT, START_ARRAY -> {
                    bytes++;
                    depth++;
                    inArray[depth] = token == JsonToken.START_ARRAY;
                    begun[depth] = false;
                }
                case END_OBJECT, END_ARRAY -> {
                    bytes++;
                    depth--;
                }
                case FIELD_NAME -> bytes += quoted(json.currentName()) + 2;
                case VALUE_STRING -> bytes += quoted(json.getText());
                case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> {
                    int from = json.getTextOffset();
                    bytes += number(json.getTextCharacters(), from, from + json.getTextLength());
                }
                case VALUE_TRUE, VALUE_NULL -> bytes += 4;
                case VALUE_FALSE -> bytes += 5;
                case VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE -> {}
            }
        }
        return bytes;
    }

    private static long quoted(String text) {
        long bytes = 2;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            bytes += switch (c) {
                case '"', '\\', '\b', '\f', '\n', '\r', '\t' -> 2;
                default -> {
                    if (c < ' ') {
                        yield 6;
                    }
                    // Each half of a surrogate pair is two of its four bytes.
                    yield c < 0x80 ? 1 : c < 0x800 || Character.isSurrogate(c) ? 2 : 3;
                }
            };
        }
        return bytes;
    }
}
