package dev.annals.access.requests;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What is logged of a request, once it has ended. All texts are bounded; what callers send is escaped when it is written, and
 * is in no line in which it could pass for something else.
 *
 * @param cause the type of the problem that it was answered with, if any
 * @param nanos how long it took
 * @param received the bytes of its body
 * @param sent the bytes of the answer's body
 */
record RequestLine(
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

    private static final ObjectMapper JSON = new ObjectMapper();

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

    /** The values as pairs {@code name=value}; a text that could pass for more than a value is quoted as in JSON. */
    @Override
    public String toString() {
        StringBuilder line = new StringBuilder(400);
        fields().forEach((name, value) -> {
            String text = value.toString();
            boolean plain = value instanceof Number || PLAIN.matcher(text).matches();
            line.append(line.isEmpty() ? "" : " ").append(name).append('=').append(plain ? text : json(text));
        });
        return line.toString();
    }

    /** The values as a JSON object. */
    String asJson() {
        return json(fields());
    }

    private Map<String, @Nullable Object> fields() {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("trace", trace.id());
        fields.put("parent", trace.parent());
        fields.put("method", method);
        fields.put("operation", operation);
        fields.put("path", withoutSecret(path));
        fields.put("status", status);
        fields.put("outcome", outcome.name().toLowerCase(Locale.ROOT));
        fields.put("cause", cause);
        fields.put("project", project);
        fields.put("token", token);
        fields.put("address", address);
        fields.put("agent", agent == null ? null : withoutSecret(agent));
        fields.put("ms", BigDecimal.valueOf(nanos / 1_000, 3));
        fields.put("received", received);
        fields.put("sent", sent);
        fields.values().removeIf(Objects::isNull);
        return fields;
    }

    private static String withoutSecret(String text) {
        return text.contains("annals_") ? SECRET.matcher(text).replaceAll("annals_…") : text;
    }

    private static String json(Object value) {
        try {
            return ascii(JSON.writeValueAsString(value));
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException("texts and numbers can be written", e);
        }
    }

    /** The same JSON in ASCII alone: nothing in it ends a line or controls a terminal. */
    static String ascii(String json) {
        if (json.chars().allMatch(c -> c <= '~')) {
            return json;
        }
        StringBuilder ascii = new StringBuilder(json.length() + 100);
        json.chars().forEach(c -> ascii.append(c <= '~' ? String.valueOf((char) c) : String.format("\\u%04x", c)));
        return ascii.toString();
    }
}
