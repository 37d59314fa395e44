package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.tools.command.Terminals;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Serial;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Output of commands. Records are hostile text: they must not control a terminal or imitate other lines. */
final class Terminal {

    /** No script has more marks on a letter. */
    private static final int MAX_MARKS = 8;

    private static final int JOINER = 0x200D;
    private static final int EMOJI_STYLE = 0xFE0F;

    /** Default_Ignorable_Code_Point beyond the categories of {@link #isShown}, and blanks that are no spaces. */
    private static final Pattern INVISIBLE = Pattern.compile(
            "[\\x{34f}\\x{115f}\\x{1160}\\x{17b4}\\x{17b5}\\x{180b}-\\x{180f}\\x{2800}\\x{3164}\\x{fe00}-\\x{fe0f}"
                    + "\\x{ffa0}\\x{1d159}\\x{e0100}-\\x{e01ef}]");

    private Terminal() {}

    /**
     * Standard output without a buffer, in UTF-8 whatever the locale. It throws {@link ClosedPipe} once its reader has closed it.
     */
    static OutputStream output() {
        return new OutputStream() {
            private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);

            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                try {
                    out.write(bytes, offset, length);
                } catch (IOException e) {
                    // Only the system's text shows the cause. It contains this word in most languages.
                    if (e.getMessage() != null
                            && e.getMessage().toLowerCase(Locale.ROOT).contains("pipe")) {
                        throw new ClosedPipe(e);
                    }
                    throw e;
                }
            }
        };
    }

    /**
     * Standard output for an export: its own bytes for a file or a program, and at a terminal lines that do not control it. Lines of JSON
     * keep their values.
     */
    static OutputStream export(boolean isJson) throws InterruptedException {
        OutputStream output = output();
        if (!Terminals.isTerminal(1)) {
            return output;
        }
        return exportTo(output, isJson);
    }

    /** Writes the last line, too, when it is flushed. */
    static OutputStream exportTo(OutputStream to, boolean isJson) {
        UnaryOperator<String> escape = isJson
                ? Terminal::escapedJson
                // Lines of CSV end with both.
                : line -> line.endsWith("\r")
                        ? escapedLine(line.substring(0, line.length() - 1)) + "\r"
                        : escapedLine(line);
        return new OutputStream() {
            private final ByteArrayOutputStream line = new ByteArrayOutputStream();

            @Override
            public void write(int b) throws IOException {
                if (b == '\n') {
                    flush();
                    to.write(b);
                } else {
                    line.write(b);
                }
            }

            @Override
            public void flush() throws IOException {
                to.write(escape.apply(line.toString(StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
                line.reset();
                to.flush();
            }
        };
    }

    /** The reader of standard output has closed it, as {@code head} does. */
    static final class ClosedPipe extends IOException {

        @Serial
        private static final long serialVersionUID = 1;

        ClosedPipe(IOException cause) {
            super(cause);
        }
    }

    /**
     * Prints a line on standard output.
     *
     * @throws UncheckedIOException if it cannot be written, with a sentence
     */
    static void print(String line) {
        write(escapedLine(line));
    }

    /**
     * Prints a JSON value over several lines on standard output.
     *
     * @throws UncheckedIOException if it cannot be written, with a sentence
     */
    static void print(JsonNode json) {
        write(escapedJson(json.toPrettyString()));
    }

    /**
     * Prints a JSON value on one line of standard output.
     *
     * @throws UncheckedIOException if it cannot be written, with a sentence
     */
    static void printLine(JsonNode json) {
        write(escapedJson(json.toString()));
    }

    private static void write(String text) {
        try (OutputStream output = output()) {
            output.write((text + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException("Standard output cannot be written: " + e.getMessage(), e);
        }
    }

    /** Tabs divide the columns. */
    private static String escapedLine(String line) {
        return Arrays.stream(line.split("\t", -1)).map(Terminal::escaped).collect(Collectors.joining("\t"));
    }

    /** A number and its noun, such as {@code 1 record}. */
    static String count(long number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    /** Prints a sentence on standard error. */
    @SuppressWarnings("SystemOut") // a command line tool
    static void say(String sentence) {
        PrintStream error = new PrintStream(System.err, true, StandardCharsets.UTF_8);
        error.println("annals: " + escaped(sentence));
    }

    /** Prints a text on standard error, and below it a mark at one of its characters, counted from 1. */
    @SuppressWarnings("SystemOut") // a command line tool
    static void point(String text, int position) {
        int end = text.offsetByCodePoints(0, Math.min(position - 1, text.codePointCount(0, text.length())));
        String before = escaped(text.substring(0, end));
        PrintStream error = new PrintStream(System.err, true, StandardCharsets.UTF_8);
        error.println("  " + before + escaped(text.substring(end)));
        error.println("  " + " ".repeat(before.codePointCount(0, before.length())) + "^");
    }

    /**
     * Escapes characters that control a terminal or are invisible: controls (C0, C1, DEL), line and paragraph separators, characters
     * that change the direction of text, all others with Unicode's property Default_Ignorable_Code_Point except in emoji, blank ones,
     * lone surrogates, and marks behind {@link #MAX_MARKS} others. The viewer has the same rule, in text.js.
     */
    static String escaped(String text) {
        return escaped(text, c -> switch (c) {
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            default -> String.format(c <= 0xFFFF ? "\\u%04x" : "\\U%08x", c);
        });
    }

    private static String escaped(String text, IntFunction<String> escape) {
        StringBuilder escaped = new StringBuilder(text.length() + 16);
        int marks = 0;
        int before = 0;
        for (int i = 0, c; i < text.length(); i += Character.charCount(c)) {
            c = text.codePointAt(i);
            boolean isMark = Character.getType(c) == Character.NON_SPACING_MARK
                    || Character.getType(c) == Character.ENCLOSING_MARK;
            marks = isMark ? marks + 1 : 0;
            boolean isInEmoji = (c == JOINER || c == EMOJI_STYLE) && isEmoji(before);
            if (isInEmoji || (isShown(c) && marks <= MAX_MARKS)) {
                escaped.appendCodePoint(c);
            } else {
                escaped.append(escape.apply(c));
            }
            before = c == EMOJI_STYLE && isInEmoji ? before : c;
        }
        return escaped.toString();
    }

    /** Escapes such characters in JSON, without changing its values. Its line ends stay. */
    static String escapedJson(String json) {
        return escaped(
                json,
                c -> c == '\n'
                        ? "\n"
                        : new String(Character.toChars(c))
                                .chars()
                                .mapToObj(unit -> String.format("\\u%04x", unit))
                                .collect(Collectors.joining()));
    }

    /** Escapes such characters in the service's JSON. */
    static byte[] withoutControls(byte[] json) {
        return escapedJson(new String(json, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
    }

    private static boolean isShown(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.UNASSIGNED -> false;
            default -> !INVISIBLE.matcher(Character.toString(c)).matches();
        };
    }

    private static boolean isEmoji(int c) {
        return Character.getType(c) == Character.OTHER_SYMBOL || Character.getType(c) == Character.MODIFIER_SYMBOL;
    }
}
