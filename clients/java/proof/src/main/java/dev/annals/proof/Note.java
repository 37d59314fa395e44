package dev.annals.proof;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A text with signatures: C2SP signed-note.
 *
 * @param text ends with a newline
 * @param signatures lines, each with its newline
 */
public record Note(String text, List<String> signatures) {

    /** Enough characters for sixteen signatures of any type that exists. */
    public static final int MAX_CHARACTERS = 131_072;

    private static final int MAX_SIGNATURES = 64;
    private static final Pattern LINE = Pattern.compile("\u2014 ([^+\\s\\p{Z}]+) ([0-9A-Za-z+/=]+)\n");
    private static final Pattern CONTROL = Pattern.compile("[\\x00-\\x09\\x0b-\\x1f]");

    /**
     * Reads a note.
     *
     * @throws IllegalArgumentException if it is not a note, or too large
     */
    public static Note parse(String note) {
        int split = note.lastIndexOf("\n\n");
        if (note.length() > MAX_CHARACTERS
                || split < 0
                || !note.endsWith("\n")
                || CONTROL.matcher(note).find()) {
            throw new IllegalArgumentException("this is no signed note");
        }
        List<String> lines = new ArrayList<>();
        for (String line : note.substring(split + 2).split("(?<=\n)", -1)) {
            if (!line.isEmpty()) {
                lines.add(line);
            }
        }
        if (lines.isEmpty() || lines.size() > MAX_SIGNATURES || lines.stream().anyMatch(line -> !isSignature(line))) {
            throw new IllegalArgumentException("this note has no signatures, too many, or what is none");
        }
        return new Note(note.substring(0, split + 1), List.copyOf(lines));
    }

    /** The line has its newline. */
    public static boolean isSignature(String line) {
        Matcher matcher = LINE.matcher(line);
        return matcher.matches() && decoded(matcher.group(2)).length > Integer.BYTES;
    }

    private static byte[] decoded(String base64) {
        try {
            byte[] bytes = Base64.getDecoder().decode(base64);
            return Base64.getEncoder().encodeToString(bytes).equals(base64) ? bytes : new byte[0];
        } catch (IllegalArgumentException e) {
            return new byte[0];
        }
    }

    /**
     * Returns the keys that have signed. Ignores signatures of other keys.
     *
     * @throws IllegalArgumentException if a line with the name and id of one of these keys is not its signature
     */
    public Set<VerifierKey> signedBy(Iterable<VerifierKey> keys) {
        Set<VerifierKey> signed = new HashSet<>();
        for (VerifierKey key : keys) {
            for (String line : signatures) {
                if (isOf(line, key)) {
                    if (!key.verifies(text, signature(line))) {
                        throw new IllegalArgumentException("the signature of " + key.name() + " does not hold");
                    }
                    signed.add(key);
                }
            }
        }
        return signed;
    }

    /** Compares the name and the id. */
    static boolean isOf(String line, VerifierKey key) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches() || !matcher.group(1).equals(key.name())) {
            return false;
        }
        byte[] signature = decoded(matcher.group(2));
        return signature.length > Integer.BYTES && ByteBuffer.wrap(signature).getInt() == key.id();
    }

    /** Without the id of its key. */
    static byte[] signature(String line) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("this is no signature");
        }
        byte[] bytes = decoded(matcher.group(2));
        return Arrays.copyOfRange(bytes, Integer.BYTES, bytes.length);
    }

    /** Joins the signatures of two notes of one text. */
    public Note and(Note other) {
        if (!text.equals(other.text)) {
            throw new IllegalArgumentException("these notes have different texts");
        }
        Set<String> all = new LinkedHashSet<>(signatures);
        all.addAll(other.signatures);
        return new Note(text, List.copyOf(all));
    }

    @Override
    public String toString() {
        return text + "\n" + String.join("", signatures);
    }
}
