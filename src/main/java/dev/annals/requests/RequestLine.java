package dev.annals.requests;

import java.time.Instant;
import java.util.Locale;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What is logged of a request, once it has ended. All texts are bounded; what callers send is escaped when it is written, and
 * is in no line in which it could pass for something else.
 *
 * @param at when it ended
 * @param cause the type of the problem that it was answered with, if any
 * @param nanos how long it took
 * @param received the bytes of its body
 * @param sent the bytes of the answer's body
 */
record RequestLine(
        Instant at,
        Trace trace,
        String method,
        String operation,
        String path,
        int status,
        Outcome outcome,
        @Nullable String cause,
        @Nullable UUID project,
        @Nullable UUID token,
        String address,
        @Nullable String agent,
        long nanos,
        long received,
        long sent) {

    static final int MAX_METHOD = 16;
    static final int MAX_PATH = 200;
    static final int MAX_AGENT = 120;
    static final int MAX_ADDRESS = 64;

    /** A token that somebody has put where it does not belong. */
    private static final Pattern SECRET = Pattern.compile("annals_[A-Za-z0-9_-]{6,}");

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_./:{}+~@%-]+");

    /** How a request ended. */
    enum Outcome {
        /** It was answered with what was asked for. */
        SUCCESS,
        /** It was refused: the caller has to change something. */
        REFUSED,
        /** The service could not do it. */
        FAILED,
        /** The connection was closed before the answer was complete. */
        CLOSED
    }

    /** At most so many characters of a text. */
    static String cut(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most) + "…";
    }

    /** The line, without its end, as pairs of names and values. */
    String asText() {
        Fields fields = new Fields(new StringBuilder(400), false);
        write(fields);
        return fields.line.toString();
    }

    /** The line, without its end, as a JSON object. */
    String asJson() {
        Fields fields = new Fields(new StringBuilder(512).append('{'), true);
        write(fields);
        return fields.line.append('}').toString();
    }

    private void write(Fields fields) {
        fields.text("time", at.toString());
        fields.text("trace", trace.id());
        fields.text("parent", trace.parent());
        fields.text("method", method);
        fields.text("operation", operation);
        fields.text("path", withoutSecret(path));
        fields.number("status", Integer.toString(status));
        fields.text("outcome", outcome.name().toLowerCase(Locale.ROOT));
        fields.text("cause", cause);
        fields.text("project", project == null ? null : project.toString());
        fields.text("token", token == null ? null : token.toString());
        fields.text("address", address);
        fields.text("agent", agent == null ? null : withoutSecret(agent));
        fields.number("ms", millis());
        fields.number("received", Long.toString(received));
        fields.number("sent", Long.toString(sent));
    }

    private String millis() {
        long micros = nanos / 1_000;
        String fraction = Long.toString(1_000 + micros % 1_000).substring(1);
        return micros / 1_000 + "." + fraction;
    }

    private static String withoutSecret(String text) {
        return text.contains("annals_") ? SECRET.matcher(text).replaceAll("annals_…") : text;
    }

    private record Fields(StringBuilder line, boolean json) {

        void text(String name, @Nullable String value) {
            if (value == null) {
                return;
            }
            name(name);
            if (!json && PLAIN.matcher(value).matches()) {
                line.append(value);
            } else {
                quote(value);
            }
        }

        void number(String name, String value) {
            name(name);
            line.append(value);
        }

        private void name(String name) {
            if (json) {
                line.append(line.length() > 1 ? ",\"" : "\"").append(name).append("\":");
            } else {
                line.append(line.isEmpty() ? "" : " ").append(name).append('=');
            }
        }

        /** As a string of JSON, in ASCII alone: nothing in it ends a line or controls a terminal. */
        private void quote(String value) {
            line.append('"');
            for (int i = 0; i < value.length(); i++) {
                char c = value.charAt(i);
                if (c == '"' || c == '\\') {
                    line.append('\\').append(c);
                } else if (c >= ' ' && c <= '~') {
                    line.append(c);
                } else {
                    line.append(String.format("\\u%04x", (int) c));
                }
            }
            line.append('"');
        }
    }
}
