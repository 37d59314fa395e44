package dev.annals.project;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.http.RequestFields;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The bodies of the administration's requests. */
final class ProjectRequests {

    private ProjectRequests() {}

    /** {@code {"name": "…"}}. */
    record NewProject(String name) {

        static NewProject read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("name"));
            String name = readText(fields, "name", 255, true);
            fields.requireValid();
            return new NewProject(name == null ? "" : name);
        }
    }

    /** {@code {"scopes": ["read", "write", "sequence"], "description": "…"}}. */
    record NewToken(Set<Scope> scopes, @Nullable String description) {

        static NewToken read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("scopes", "description"));
            Set<Scope> scopes = readScopes(fields);
            String description = readText(fields, "description", 1024, false);
            fields.requireValid();
            return new NewToken(scopes, description);
        }
    }

    /** Unlike {@link String#isBlank}, this counts non-breaking spaces and the next-line character as blank. */
    private static boolean isBlank(String text) {
        return text.codePoints().allMatch(c -> Character.isWhitespace(c) || Character.isSpaceChar(c) || c == '\u0085');
    }

    private static @Nullable String readText(RequestFields fields, String name, int maxLength, boolean required) {
        JsonNode value = fields.get(name);
        if (value == null) {
            if (required) {
                fields.wrong(name, "It is missing.");
            }
            return null;
        }
        String text = value.isTextual() ? value.textValue() : "";
        if (!value.isTextual() || (required && isBlank(text)) || text.codePointCount(0, text.length()) > maxLength) {
            fields.wrong(name, "It must be a string of at most " + maxLength + " characters, and not blank.");
        } else if (text.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            fields.wrong(name, "It must not contain a NUL character or half a surrogate pair.");
        }
        return text;
    }

    private static Set<Scope> readScopes(RequestFields fields) {
        Set<Scope> scopes = EnumSet.noneOf(Scope.class);
        JsonNode value = fields.get("scopes");
        if (value == null || !value.isArray() || value.isEmpty() || value.size() > 3) {
            fields.wrong("scopes", "It must be an array of one or more of \"read\", \"write\" and \"sequence\".");
            return scopes;
        }
        for (int i = 0; i < value.size(); i++) {
            Scope scope = Scope.of(value.get(i).asText()).orElse(Scope.ADMIN);
            if (!value.get(i).isTextual() || scope == Scope.ADMIN || !scopes.add(scope)) {
                fields.wrong("scopes/" + i, "It must be \"read\", \"write\" or \"sequence\", each once.");
            }
        }
        return scopes;
    }
}
