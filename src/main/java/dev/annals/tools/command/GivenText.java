package dev.annals.tools.command;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The arguments and the environment of the process. Java decodes both by the locale: without one, as under cron and systemd, it
 * replaces each character that is not ASCII.
 */
public final class GivenText {

    private static final Path COMMAND_LINE = Path.of("/proc/self/cmdline");
    private static final Path ENVIRONMENT = Path.of("/proc/self/environ");
    private static final String REPLACEMENT = "\uFFFD";
    private static final String ADVICE = " Set LC_ALL=C.UTF-8.";

    private GivenText() {}

    /**
     * Decodes the arguments from their bytes as UTF-8 if the locale has another encoding.
     *
     * @throws IllegalArgumentException if an argument cannot be read, with a sentence
     */
    public static String[] arguments(String... decoded) {
        boolean lossless = localeCharset().equals(StandardCharsets.UTF_8);
        if (lossless && List.of(decoded).stream().noneMatch(argument -> argument.contains(REPLACEMENT))) {
            return decoded;
        }
        List<byte[]> given = zeroTerminated(COMMAND_LINE);
        String[] arguments = new String[decoded.length];
        for (int i = 0; i < decoded.length; i++) {
            int place = given.size() - decoded.length + i;
            arguments[i] = place < 0 ? requireAscii(decoded[i]) : utf8(given.get(place), i + 1);
        }
        return arguments;
    }

    /**
     * Refuses variables that Java cannot read in this locale.
     *
     * @param prefix of the variables to check
     * @throws IllegalArgumentException naming the variable
     */
    public static void requireReadable(Map<String, String> environment, String prefix) {
        environment.forEach((name, value) -> {
            if (name.startsWith(prefix) && value.contains(REPLACEMENT)) {
                throw new IllegalArgumentException(
                        "The variable " + name + " has characters that cannot be read in this locale." + ADVICE);
            }
        });
    }

    /**
     * Parses the path of a file.
     *
     * @throws IllegalArgumentException with a sentence, if Java cannot name it or the working directory in this locale
     */
    public static Path path(String text) {
        try {
            Path path = Path.of(text);
            if (!path.isAbsolute() && !Files.isDirectory(Path.of(System.getProperty("user.dir")))) {
                throw new IllegalArgumentException(unreadable(workingDirectory()));
            }
            return path;
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(explained(e), e);
        }
    }

    /** A sentence about a path that Java cannot name. The cause is mostly the locale, and the path may be the working directory. */
    public static String explained(InvalidPathException failure) {
        if (!failure.getReason().startsWith("Malformed")) {
            return Objects.requireNonNull(failure.getMessage());
        }
        boolean within = failure.getInput().startsWith(System.getProperty("user.dir"));
        return unreadable(within ? workingDirectory() : failure.getInput());
    }

    private static String unreadable(String path) {
        return "The path " + path + " has characters that cannot be read in this locale." + ADVICE;
    }

    /** From the shell's PWD, since Java may be unable to name it. */
    private static String workingDirectory() {
        return zeroTerminated(ENVIRONMENT).stream()
                .map(variable -> new String(variable, StandardCharsets.UTF_8))
                .filter(variable -> variable.startsWith("PWD="))
                .map(variable -> variable.substring("PWD=".length()))
                .findFirst()
                .orElse(System.getProperty("user.dir"));
    }

    private static Charset localeCharset() {
        String name = System.getProperty("sun.jnu.encoding", "");
        return Charset.isSupported(name) ? Charset.forName(name) : StandardCharsets.US_ASCII;
    }

    /** Empty if the system has no such file. */
    private static List<byte[]> zeroTerminated(Path file) {
        List<byte[]> arguments = new ArrayList<>();
        try {
            ByteArrayOutputStream argument = new ByteArrayOutputStream();
            for (byte b : Files.readAllBytes(file)) {
                if (b == 0) {
                    arguments.add(argument.toByteArray());
                    argument.reset();
                } else {
                    argument.write(b);
                }
            }
        } catch (IOException e) {
            arguments.clear();
        }
        return arguments;
    }

    private static String utf8(byte[] argument, int number) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(argument))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("Argument " + number + " is not UTF-8. Write it in UTF-8.", e);
        }
    }

    private static String requireAscii(String argument) {
        if (argument.chars().anyMatch(c -> c > 0x7E || c == '?')) {
            throw new IllegalArgumentException(
                    "The argument " + argument + " may have lost characters in this locale." + ADVICE);
        }
        return argument;
    }
}
