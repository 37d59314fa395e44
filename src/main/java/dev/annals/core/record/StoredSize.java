package dev.annals.core.record;

/** How many bytes of a record's JSON count: its size must not depend on how a sender lays out and escapes what is stored. */
final class StoredSize {

    private static final int HEX = 16;

    private StoredSize() {}

    /**
     * The bytes of UTF-8 without white space between values, where each character in a string is itself, however it is escaped.
     *
     * @param json well-formed from {@code from} to before {@code to}
     */
    static int of(byte[] json, int from, int to) {
        int size = 0;
        boolean inString = false;
        for (int at = from; at < to; at++) {
            byte next = json[at];
            if (next == '\\') {
                at++;
                boolean isNumbered = json[at] == 'u';
                size += isNumbered ? ofCharacter(json, at + 1) : 1;
                at += isNumbered ? 4 : 0;
            } else if (inString || (next != ' ' && next != '\n' && next != '\r' && next != '\t')) {
                size++;
                inString ^= next == '"';
            }
        }
        return size;
    }

    /** Each half of a surrogate pair is two of its four bytes. */
    private static int ofCharacter(byte[] json, int at) {
        int code = 0;
        for (int i = at; i < at + 4; i++) {
            code = code * HEX + Character.digit(json[i], HEX);
        }
        return code < 0x80 ? 1 : code < 0x800 || Character.isSurrogate((char) code) ? 2 : 3;
    }
}
