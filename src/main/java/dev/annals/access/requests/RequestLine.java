package dev.annals.access.requests;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A line of the request log. All texts are bounded, and callers' input is escaped.
 *
 * @param cause the type of the problem; null without one
 * @param received bytes of the request's body
 * @param sent bytes of the answer's body
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

    /** A token where none belongs, such as in a path. */
    private static final Pattern SECRET = Pattern.compile("annals_[A-Za-z0-9_-]{6,}");

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_./:{}+~@%-]+");

    /**
     * W3C Trace Context.
     *
     * @param id 32 hexadecimal digits: the caller's, or new ones
     * @param parent the caller's span; null for a new trace
     */
    record Trace(String id, @Nullable String parent) {

        // Later versions may have more after the flags; version 00 has not.
        private static final Pattern HEADER = Pattern.compile("(?:00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}"
                + "|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.{0,200})?)");
        private static final String NO_ID = "0".repeat(32);
        private static final String NO_PARENT = "0".repeat(16);
        private static final int MAX_LENGTH = 256;

        /** Begins a new trace unless there is exactly one valid value. */
        static Trace of(List<String> headers) {
            if (headers.size() == 1 && headers.get(0).length() <= MAX_LENGTH) {
                Matcher header = HEADER.matcher(headers.get(0));
                if (header.matches()) {
                    String id = header.group(1) == null ? header.group(3) : header.group(1);
                    String parent = header.group(2) == null ? header.group(4) : header.group(2);
                    if (!id.equals(NO_ID) && !parent.equals(NO_PARENT)) {
                        return new Trace(id, parent);
                    }
                }
            }
            return fresh();
        }

        // The id protects nothing, so it needs no secure source, which could block.
        private static Trace fresh() {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            return new Trace(hex(random.nextLong()) + hex(random.nextLong() | 1), null);
        }

        private static String hex(long bits) {
            String digits = Long.toHexString(bits);
            return "0".repeat(16 - digits.length()) + digits;
        }
    }

    enum Outcome {
        /** Status below 400. */
        SUCCESS,
        /** The caller has to change the request. */
        REFUSED,
        FAILED,
        /** The connection was closed before the answer was complete. */
        CLOSED
    }

    static String cut(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most) + "…";
    }

    /** Pairs {@code name=value}; texts with special characters are quoted as in JSON. */
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

    /** Nothing in the result ends a line or controls a terminal. */
    static String ascii(String json) {
        if (json.chars().allMatch(c -> c <= '~')) {
            return json;
        }
        StringBuilder ascii = new StringBuilder(json.length() + 100);
        json.chars().forEach(c -> ascii.append(c <= '~' ? String.valueOf((char) c) : String.format("\\u%04x", c)));
        return ascii.toString();
    }
}
