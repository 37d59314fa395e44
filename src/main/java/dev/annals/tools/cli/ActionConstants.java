package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Source text with a constant for each action of a catalogue. Names and titles are taken as hostile: they cannot leave their literal. */
final class ActionConstants {

    enum Language {
        java,
        typescript,
        python,
        go
    }

    private final Language language;
    private final Set<String> used = new HashSet<>();

    private ActionConstants(Language language) {
        this.language = language;
    }

    static String of(JsonNode actions, Language language, @Nullable String packageName) {
        ActionConstants constants = new ActionConstants(language);
        StringBuilder source = new StringBuilder(language == Language.python ? "#" : "//")
                .append(" Generated from the catalogue of actions. Do not edit.\n");
        source.append(
                switch (language) {
                    case java ->
                        (packageName == null ? "" : "package " + packageName + ";\n")
                                + "\npublic final class Actions {\n\n    private Actions() {}\n";
                    case typescript -> "\nexport const Actions = {\n";
                    case python -> "from typing import Final\n\n";
                    case go -> "package " + (packageName == null ? "actions" : packageName) + "\n\nconst (\n";
                });
        for (JsonNode action : actions) {
            source.append(constants.line(action));
        }
        return source.append(
                        switch (language) {
                            case java -> "}\n";
                            case typescript ->
                                "} as const;\n\nexport type Action = (typeof Actions)[keyof typeof Actions];\n";
                            case python -> "";
                            case go -> ")\n";
                        })
                .toString();
    }

    private String line(JsonNode action) {
        String name = action.path("name").asText();
        String literal = "\"" + escaped(name) + "\"";
        String title =
                action.path("title").isTextual() ? comment(action.path("title").asText()) : "";
        return switch (language) {
            case java ->
                "\n" + (title.isEmpty() ? "" : "    /** " + title + " */\n") + "    public static final String "
                        + identifier(name) + " = " + literal + ";\n";
            case typescript ->
                (title.isEmpty() ? "" : "  /** " + title + " */\n") + "  " + identifier(name) + ": " + literal + ",\n";
            case python ->
                (title.isEmpty() ? "" : "# " + title + "\n") + identifier(name) + ": Final = " + literal + "\n";
            case go ->
                (title.isEmpty() ? "" : "\t// " + title + "\n") + "\t" + identifier(name) + " = " + literal + "\n";
        };
    }

    /** {@code USER_LOGIN}, or {@code UserLogin} in Go. A number makes it unique. */
    private String identifier(String name) {
        StringBuilder words = new StringBuilder();
        for (String word : name.split("[^\\p{L}\\p{Nd}]+|(?<=\\p{Ll})(?=\\p{Lu})", -1)) {
            String ascii = ascii(word);
            if (!ascii.isEmpty()) {
                words.append(
                        language == Language.go
                                ? ascii.substring(0, 1).toUpperCase(Locale.ROOT)
                                        + ascii.substring(1).toLowerCase(Locale.ROOT)
                                : (words.isEmpty() ? "" : "_") + ascii.toUpperCase(Locale.ROOT));
            }
        }
        if (words.isEmpty() || Character.isDigit(words.charAt(0))) {
            words.insert(0, language == Language.go ? "Action" : "ACTION_");
        }
        String unique = words.toString();
        for (int i = 2; !used.add(unique); i++) {
            unique = words + "_" + i;
        }
        return unique;
    }

    private static String ascii(String word) {
        StringBuilder ascii = new StringBuilder();
        word.codePoints().forEach(c -> {
            if (c < 0x80) {
                ascii.append((char) c);
            } else {
                ascii.append("U%04X".formatted(c));
            }
        });
        return ascii.toString();
    }

    private String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        text.codePoints().forEach(c -> {
            if (c == '"' || c == '\\') {
                escaped.append('\\').append((char) c);
            } else if (c >= ' ' && c < 0x7F) {
                escaped.append((char) c);
            } else if (c < 0x80) {
                // Java reads \\u000a as a line break of its source.
                escaped.append((language == Language.java ? "\\%03o" : "\\x%02x").formatted(c));
            } else if (c < 0x10000) {
                escaped.append("\\u%04x".formatted(c));
            } else if (language == Language.java || language == Language.typescript) {
                escaped.append(
                        "\\u%04x\\u%04x".formatted((int) Character.highSurrogate(c), (int) Character.lowSurrogate(c)));
            } else {
                escaped.append("\\U%08x".formatted(c));
            }
        });
        return escaped.toString();
    }

    /** On one line, without an end of the comment, an escape, or characters that are not seen. */
    private static String comment(String text) {
        return text.replaceAll("[\\p{C}\\p{Zl}\\p{Zp}\\\\]+", " ")
                .replace("*/", "* /")
                .strip();
    }
}
