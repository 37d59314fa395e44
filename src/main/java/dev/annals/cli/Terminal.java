package dev.annals.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Serial;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** What a command prints. Records are hostile text: nothing in them may control a terminal or pass for another line. */
final class Terminal {

    private Terminal() {}

    /**
     * Standard output, without a buffer, so that it fails once nobody reads it any more, and in UTF-8 whatever the locale.
     * Then it throws {@link NobodyReads}.
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
                    // The JVM tells it by the system's text alone, which has this word in most languages.
                    if (e.getMessage() != null
                            && e.getMessage().toLowerCase(Locale.ROOT).contains("pipe")) {
                        throw new NobodyReads(e);
                    }
                    throw e;
                }
            }
        };
    }

    /** Whoever read standard output has closed it, as {@code head} does. */
    static final class NobodyReads extends IOException {

        @Serial
        private static final long serialVersionUID = 1;

        NobodyReads(IOException cause) {
            super(cause);
        }
    }

    /** Prints a line on standard output. */
    @SuppressWarnings("SystemOut") // a command line tool
    static void print(String line) {
        new PrintStream(System.out, true, StandardCharsets.UTF_8).println(escapedLine(line));
    }

    /** Tabs divide the columns. */
    private static String escapedLine(String line) {
        return Arrays.stream(line.split("\t", -1)).map(Terminal::escaped).collect(Collectors.joining("\t"));
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
     * Text in which every character is escaped that a terminal acts upon or does not show: controls (C0, C1, DEL), line and
     * paragraph separators, characters that change the direction of text, other invisible characters except the joiner of
     * emoji, and lone surrogates.
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
