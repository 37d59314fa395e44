package dev.annals.kernel.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The answer to a request that fails (RFC 9457).
 *
 * @param status of the type, except for {@link ProblemType#OTHER}; so is {@code title}
 * @param errors left out of the answer when empty
 * @param members further members by their JSON names; values are strings, numbers or booleans
 */
public record Problem(
        ProblemType type,
        int status,
        String title,
        String detail,
        List<FieldError> errors,
        Map<String, Object> members) {

    public static final String MEDIA_TYPE = "application/problem+json";

    static final String RETRY_AFTER = "retry_after";
    private static final long DEFAULT_RETRY_AFTER_SECONDS = 1;
    private static final JsonFactory JSON = new JsonFactory();

    public Problem {
        errors = List.copyOf(errors);
        members = Map.copyOf(members);
    }

    public static Problem of(ProblemType type, String detail) {
        return new Problem(type, type.status(), type.title(), detail, List.of(), Map.of());
    }

    public Problem withErrors(List<FieldError> wrongFields) {
        return new Problem(type, status, title, detail, wrongFields, members);
    }

    /**
     * A copy with one further member; {@code value} is a string, a number or a boolean.
     *
     * @param value a string, a number or a boolean
     */
    public Problem with(String member, Object value) {
        Map<String, Object> all = new LinkedHashMap<>(members);
        all.put(member, value);
        return new Problem(type, status, title, detail, errors, all);
    }

    /** Asks the client to wait, in the header and in the member {@code retry_after}, in whole seconds. */
    public Problem withRetryAfter(Duration wait) {
        return with(RETRY_AFTER, Math.max(1, wait.plusMillis(999).toSeconds()));
    }

    /** {@code Content-Type}, and the headers that the status requires. */
    public Map<String, String> headers() {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Content-Type", MEDIA_TYPE);
        if (status == 401) {
            headers.put("WWW-Authenticate", "Bearer");
        }
        if (status == 415) {
            headers.put("Accept-Encoding", "gzip, identity");
        }
        if (status == 503 || members.containsKey(RETRY_AFTER)) {
            headers.put(
                    "Retry-After",
                    members.getOrDefault(RETRY_AFTER, DEFAULT_RETRY_AFTER_SECONDS)
                            .toString());
        }
        return headers;
    }

    /** UTF-8. Lone surrogates become question marks. */
    public byte[] toJson() {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            writeMembers(json);
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return out.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Writes the members into an open object, for a problem that is part of an answer. */
    public void writeMembers(JsonGenerator json) throws IOException {
        json.writeStringField("type", type.uri());
        json.writeStringField("title", title);
        json.writeNumberField("status", status);
        json.writeStringField("detail", detail);
        for (Map.Entry<String, Object> member : members.entrySet()) {
            json.writeObjectField(member.getKey(), member.getValue());
        }
        if (!errors.isEmpty()) {
            json.writeArrayFieldStart("errors");
            for (FieldError error : errors) {
                json.writeStartObject();
                json.writeStringField("pointer", error.pointer());
                json.writeStringField("detail", error.detail());
                json.writeEndObject();
            }
            json.writeEndArray();
        }
    }
}
