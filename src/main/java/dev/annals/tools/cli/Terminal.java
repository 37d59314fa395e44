package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
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
import java.util.stream.Collectors;

/** Output of commands. Records are hostile text: they must not control a terminal or imitate other lines. */
final class Terminal {

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
     * that change the direction of text, other invisible characters except the joiner of emoji, and lone surrogates.
     */
    static String escaped(String text) {
        StringBuilder escaped = new StringBuilder(text.length() + 16);
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\n' -> escaped.append("\\n");
                case '\r' -> escaped.append("\\r");
                case '\t' -> escaped.append("\\t");
                default -> {
                    if (isShown(c)) {
                        escaped.appendCodePoint(c);
                    } else {
                        escaped.append(c <= 0xFFFF ? String.format("\\u%04x", c) : String.format("\\U%08x", c));
                    }
                }
            }
        });
        return escaped.toString();
    }

    /** Escapes such characters in JSON, without changing its values. Its line ends stay. */
    static String escapedJson(String json) {
        StringBuilder escaped = new StringBuilder(json.length() + 16);
        json.codePoints().forEach(c -> {
            if (c == '\n' || isShown(c)) {
                escaped.appendCodePoint(c);
            } else {
                for (char unit : Character.toChars(c)) {
                    escaped.append(String.format("\\u%04x", (int) unit));
                }
            }
        });
        return escaped.toString();
    }

    /** Escapes DEL and the controls C1, which control terminals, in the service's JSON. */
    static byte[] withoutControls(byte[] json) {
        for (int i = 0; i < json.length; i++) {
            boolean isC1 = json[i] == (byte) 0xC2 && i + 1 < json.length && json[i + 1] < (byte) 0xA0;
            if (isC1 || json[i] == 0x7F) {
                return new String(json, StandardCharsets.UTF_8)
                        .codePoints()
                        .mapToObj(c -> c >= 0x7F && c < 0xA0 ? String.format("\\u%04x", c) : Character.toString(c))
                        .collect(Collectors.joining())
                        .getBytes(StandardCharsets.UTF_8);
            }
        }
        return json;
    }

    private static boolean isShown(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.UNASSIGNED -> false;
            case Character.FORMAT -> c == '\u200D';
            default -> true;
        };
    }
}
