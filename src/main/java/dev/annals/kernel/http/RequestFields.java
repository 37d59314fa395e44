package dev.annals.kernel.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The fields of a request's JSON object, read strictly. Collects all errors. */
public final class RequestFields {

    private static final ObjectReader JSON = JsonMapper.builder(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build()
            .reader();

    /** Further errors are not named. */
    private static final int MAX_ERRORS = 100;

    private final JsonNode object;
    private final String prefix;
    private final List<FieldError> errors;

    /**
     * Reads a body.
     *
     * @throws ProblemException {@code malformed-json}; {@code invalid-body} if it is not an object
     */
    public RequestFields(byte[] body, Set<String> known) {
        this(parse(body), "", new ArrayList<>(), known);
        if (!object.isObject()) {
            requireValid();
        }
    }

    private RequestFields(JsonNode object, String prefix, List<FieldError> errors, Set<String> known) {
        this.object = object;
        this.prefix = prefix;
        this.errors = errors;
        if (!object.isObject()) {
            errors.add(new FieldError(prefix, "It must be a JSON object."));
        }
        object.fieldNames().forEachRemaining(name -> {
            if (!known.contains(name)) {
                wrong(name.replace("~", "~0").replace("/", "~1"), "There is no such field.");
            }
        });
    }

    private static JsonNode parse(byte[] body) {
        try {
            // Jackson would guess the encoding.
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(body))
                    .toString();
            JsonNode value = JSON.readTree(text);
            if (value.isMissingNode()) {
                throw new ProblemException(
                        ProblemType.MALFORMED_JSON,
                        "There is no JSON here: send an object as openapi.yaml describes it.");
            }
            return value;
        } catch (CharacterCodingException e) {
            throw new ProblemException(ProblemType.MALFORMED_JSON, "The body is not UTF-8: send JSON in UTF-8.");
        } catch (JsonProcessingException e) {
            JsonLocation at = e.getLocation();
            String where = at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
            throw new ProblemException(
                    ProblemType.MALFORMED_JSON,
                    "The body is not well-formed JSON, or has a field twice" + where + ": correct it.");
        }
    }

    /** An object within this one. Its errors are added here. */
    public RequestFields object(String name, Set<String> known) {
        return new RequestFields(object.path(name), prefix + "/" + name, errors, known);
    }

    /**
     * The objects of an array within this one; none if it is left out. Their errors are added here.
     *
     * @param most the most objects
     */
    public List<RequestFields> objects(String name, int most, Set<String> known) {
        JsonNode value = get(name);
        if (value == null) {
            return List.of();
        }
        List<RequestFields> objects = new ArrayList<>();
        if (!value.isArray() || value.size() > most) {
            wrong(name, "It must be an array of at most " + most + " objects.");
            return objects;
        }
        for (int i = 0; i < value.size(); i++) {
            objects.add(new RequestFields(value.get(i), prefix + "/" + name + "/" + i, errors, known));
        }
        return objects;
    }

    /** True for a null value, too. */
    public boolean has(String name) {
        return object.has(name);
    }

    /** Null if left out or null. */
    public @Nullable JsonNode get(String name) {
        JsonNode value = object.get(name);
        return value == null || value.isNull() ? null : value;
    }

    /**
     * Null if left out or null. Adds an error for anything but text.
     *
     * @param maxLength in characters
     * @param required if true, it must exist and not be blank
     */
    public @Nullable String text(String name, int maxLength, boolean required) {
        JsonNode value = get(name);
        if (value == null) {
            if (required) {
                wrong(name, "It is missing.");
            }
            return null;
        }
        String text = value.isTextual() ? value.textValue() : "";
        if (!value.isTextual() || (required && isBlank(text)) || text.codePointCount(0, text.length()) > maxLength) {
            wrong(name, "It must be a string of at most " + maxLength + " characters, and not blank.");
        } else if (text.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            wrong(name, "It must not contain a NUL character or half a surrogate pair.");
        }
        return text;
    }

    /** Unlike {@link String#isBlank}, counts non-breaking spaces and the next-line character. */
    private static boolean isBlank(String text) {
        return text.codePoints().allMatch(c -> Character.isWhitespace(c) || Character.isSpaceChar(c) || c == '\u0085');
    }

    public void wrong(String path, String detail) {
        errors.add(new FieldError(prefix + "/" + path, detail));
    }

    /**
     * Requires that there are no errors.
     *
     * @throws ProblemException {@code invalid-body}, with all errors
     */
    public void requireValid() {
        if (!errors.isEmpty()) {
            throw new ProblemException(Problem.of(ProblemType.INVALID_BODY, "Some fields are wrong; errors names each.")
                    .withErrors(errors.subList(0, Math.min(errors.size(), MAX_ERRORS))));
        }
    }
}
