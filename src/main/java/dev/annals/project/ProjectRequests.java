package dev.annals.project;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.problem.FieldError;
import dev.annals.problem.Problem;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The bodies of the administration's requests, read strictly. */
final class ProjectRequests {

    private static final ObjectReader JSON = JsonMapper.builder(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build()
            .reader();

    private ProjectRequests() {}

    /** {@code {"name": "…"}}. */
    record NewProject(String name) {

        static NewProject read(byte[] body) {
            Fields fields = new Fields(body, Set.of("name"));
            String name = fields.text("name", 255, true);
            fields.requireValid();
            return new NewProject(name == null ? "" : name);
        }
    }

    /** {@code {"scopes": ["read", "write"], "description": "…"}}. */
    record NewToken(Set<Scope> scopes, @Nullable String description) {

        static NewToken read(byte[] body) {
            Fields fields = new Fields(body, Set.of("scopes", "description"));
            Set<Scope> scopes = fields.scopes();
            String description = fields.text("description", 1024, false);
            fields.requireValid();
            return new NewToken(scopes, description);
        }
    }

    /** The fields of an object, and what is wrong with them. */
    private static final class Fields {

        private final JsonNode object;
        private final List<FieldError> errors = new ArrayList<>();

        Fields(byte[] body, Set<String> known) {
            this.object = parse(body);
            if (!object.isObject()) {
                errors.add(new FieldError("", "It must be a JSON object."));
                requireValid();
            }
            object.fieldNames().forEachRemaining(name -> {
                if (!known.contains(name)) {
                    errors.add(new FieldError(
                            "/" + name.replace("~", "~0").replace("/", "~1"), "There is no such field."));
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
                throw new ProblemException(ProblemType.MALFORMED_JSON, "The body is no UTF-8: send JSON in UTF-8.");
            } catch (JsonProcessingException e) {
                JsonLocation at = e.getLocation();
                String where = at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
                throw new ProblemException(
                        ProblemType.MALFORMED_JSON,
                        "The body is no well-formed JSON, or names a field twice" + where + ": correct it.");
            }
        }

        /** Unlike {@link String#isBlank}, spaces that do not break a line count, and the next-line character. */
        private static boolean isBlank(String text) {
            return text.codePoints()
                    .allMatch(c -> Character.isWhitespace(c) || Character.isSpaceChar(c) || c == '\u0085');
        }

        @Nullable
        String text(String name, int maxLength, boolean required) {
            JsonNode value = object.get(name);
            if (value == null || value.isNull()) {
                if (required) {
                    errors.add(new FieldError("/" + name, "It is missing."));
                }
                return null;
            }
            String text = value.isTextual() ? value.textValue() : "";
            if (!value.isTextual()
                    || (required && isBlank(text))
                    || text.codePointCount(0, text.length()) > maxLength) {
                errors.add(new FieldError(
                        "/" + name, "It must be a string of at most " + maxLength + " characters, and not blank."));
            } else if (text.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
                errors.add(new FieldError("/" + name, "It must not contain a NUL character or half a surrogate pair."));
            }
            return text;
        }

        Set<Scope> scopes() {
            Set<Scope> scopes = EnumSet.noneOf(Scope.class);
            JsonNode value = object.get("scopes");
            if (value == null || !value.isArray() || value.isEmpty() || value.size() > 2) {
                errors.add(new FieldError("/scopes", "It must be an array of \"read\", \"write\" or both."));
                return scopes;
            }
            for (int i = 0; i < value.size(); i++) {
                Scope scope = Scope.of(value.get(i).asText()).orElse(Scope.ADMIN);
                if (!value.get(i).isTextual() || scope == Scope.ADMIN || !scopes.add(scope)) {
                    errors.add(new FieldError("/scopes/" + i, "It must be \"read\" or \"write\", each once."));
                }
            }
            return scopes;
        }

        void requireValid() {
            if (!errors.isEmpty()) {
                throw new ProblemException(
                        Problem.of(ProblemType.INVALID_BODY, "Some fields are wrong; errors names each.")
                                .withErrors(errors));
            }
        }
    }
}
