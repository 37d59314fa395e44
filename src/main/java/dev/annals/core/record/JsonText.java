package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Comparator;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * JSON as bytes and characters. It has three sizes: as it is sent, as a record's limit counts it ({@link #countedBytes}), and
 * as PostgreSQL's {@code jsonb} writes it ({@link #writtenBytes}). Each is computed without writing anything.
 */
public final class JsonText {

    /** Without a backslash: no JSON string can hold an escape. */
    static final int PLAIN = -1;

    static final int WITH_BACKSLASH = -2;

    private static final VarHandle EIGHT_BYTES =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long EACH_BYTE = 0x0101_0101_0101_0101L;
    private static final long HIGH_BITS = EACH_BYTE << 7;
    private static final long BACKSLASHES = EACH_BYTE * '\\';

    private static final int HEX = 16;
    /** Beyond any limit, and still far from an overflow. */
    private static final long HUGE = 1_000_000_000;

    /** Accepts names as long as a record can hold. */
    static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(1_000)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private static final ObjectMapper VALUES = JsonMapper.builder(JSON)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .build();

    /** 1, 1.0 and 1e0 are one number. */
    private static final Comparator<JsonNode> BY_VALUE = (one, other) -> one.isNumber() && other.isNumber()
            ? one.decimalValue().compareTo(other.decimalValue())
            : one.equals(other) ? 0 : 1;

    /** Attributes that no field of a record has, and data that is no JSON. */
    private static final Set<String> EVENT_ATTRIBUTES =
            Set.of("id", "source", "datacontenttype", "dataschema", "data_base64");

    private JsonText() {}

    /**
     * Jackson accepts overlong forms and encoded surrogates as characters; the Unicode Standard (table 3-7, well-formed UTF-8
     * byte sequences) does not, and neither does PostgreSQL.
     *
     * @param to exclusive
     * @return {@link #PLAIN}, {@link #WITH_BACKSLASH}, or the index of the first byte of a sequence that is not UTF-8
     */
    public static int scanUtf8(byte[] bytes, int from, int to) {
        int result = PLAIN;
        int at = from;
        while (at < to) {
            if (to - at >= Long.BYTES) {
                long eight = (long) EIGHT_BYTES.get(bytes, at);
                if ((eight & HIGH_BITS) == 0) {
                    long zeroWhereBackslash = eight ^ BACKSLASHES;
                    if (((zeroWhereBackslash - EACH_BYTE) & ~zeroWhereBackslash & HIGH_BITS) != 0) {
                        result = WITH_BACKSLASH;
                    }
                    at += Long.BYTES;
                    continue;
                }
            }
            byte first = bytes[at];
            if (first == '\\') {
                result = WITH_BACKSLASH;
            }
            int length = first >= 0 ? 1 : sequenceLength(bytes, at, to);
            if (length == 0) {
                return at;
            }
            at += length;
        }
        return result;
    }

    /** 0 if the sequence is malformed or cut off. */
    private static int sequenceLength(byte[] bytes, int at, int to) {
        int first = bytes[at] & 0xFF;
        int length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
        if (length == 0 || to - at < length) {
            return 0;
        }
        int second = bytes[at + 1] & 0xFF;
        int lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        int highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        if (second < lowest || second > highest) {
            return 0;
        }
        for (int i = 2; i < length; i++) {
            if ((bytes[at + i] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return length;
    }

    /**
     * The bytes that a record's limit counts: UTF-8 without white space between values, with each character as itself,
     * however it is escaped.
     *
     * @param json well-formed from {@code from} to before {@code to}
     */
    static int countedBytes(byte[] json, int from, int to) {
        int size = 0;
        boolean inString = false;
        for (int at = from; at < to; at++) {
            byte next = json[at];
            if (next == '\\') {
                at++;
                boolean isNumbered = json[at] == 'u';
                size += isNumbered ? bytesOfCharacter(json, at + 1) : 1;
                at += isNumbered ? 4 : 0;
            } else if (inString || (next != ' ' && next != '\n' && next != '\r' && next != '\t')) {
                size++;
                inString ^= next == '"';
            }
        }
        return size;
    }

    /** Each half of a surrogate pair is two of its four bytes. */
    private static int bytesOfCharacter(byte[] json, int at) {
        int code = 0;
        for (int i = at; i < at + 4; i++) {
            code = code * HEX + Character.digit(json[i], HEX);
        }
        return code < 0x80 ? 1 : code < 0x800 || Character.isSurrogate((char) code) ? 2 : 3;
    }

    /** The characters of a number without an exponent and with all decimals. */
    static long writtenLength(char[] text, int from, int to) {
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
     * The bytes that the database writes an object with: a space after each comma and colon, numbers without an exponent, and
     * only those characters escaped that have to be.
     *
     * @param json at most {@link RecordParser#MAX_DEPTH} levels deep, with no key twice
     */
    static long writtenBytes(String json) {
        try (JsonParser parser = JSON.createParser(json)) {
            return writtenBytes(parser);
        } catch (IOException e) {
            throw new IllegalArgumentException("no JSON", e);
        }
    }

    private static long writtenBytes(JsonParser json) throws IOException {
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
                    bytes += writtenLength(json.getTextCharacters(), from, from + json.getTextLength());
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
                    // As in bytesOfCharacter.
                    yield c < 0x80 ? 1 : c < 0x800 || Character.isSurrogate(c) ? 2 : 3;
                }
            };
        }
        return bytes;
    }

    /**
     * Null stands for an empty object. A text too large to be compared (more than 1,000 levels deep, a number of more than
     * 1,000 digits) equals no other.
     */
    static boolean sameObject(@Nullable String left, @Nullable String right) {
        return same(left, right, tree -> tree);
    }

    /** Ignores extension attributes of CloudEvents: systems on the way add some, such as a trace. */
    static boolean sameEvent(@Nullable String left, @Nullable String right) {
        return same(left, right, tree -> {
            if (tree.path("cloudevent") instanceof ObjectNode attributes) {
                attributes.retain(EVENT_ATTRIBUTES);
            }
            return tree;
        });
    }

    private static boolean same(@Nullable String left, @Nullable String right, UnaryOperator<JsonNode> content) {
        String one = left == null ? "{}" : left;
        String other = right == null ? "{}" : right;
        if (one.equals(other)) {
            return true;
        }
        try {
            return content.apply(VALUES.readTree(one)).equals(BY_VALUE, content.apply(VALUES.readTree(other)));
        } catch (IOException | NumberFormatException e) {
            return false;
        }
    }
}
