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
            String name = fields.text("name", 255, true);
            fields.requireValid();
            return new NewProject(name == null ? "" : name);
        }
    }

    /** {@code {"scopes": ["read", "write", "sequence", "redact"], "description": "…"}}. */
    record NewToken(Set<Scope> scopes, @Nullable String description) {

        static NewToken read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("scopes", "description"));
            Set<Scope> scopes = readScopes(fields);
            String description = fields.text("description", 1024, false);
            fields.requireValid();
            return new NewToken(scopes, description);
        }
    }

    private static Set<Scope> readScopes(RequestFields fields) {
        Set<Scope> scopes = EnumSet.noneOf(Scope.class);
        JsonNode value = fields.get("scopes");
        if (value == null || !value.isArray() || value.isEmpty() || value.size() > 4) {
            fields.wrong(
                    "scopes",
                    "It must be an array of one or more of \"read\", \"write\", \"sequence\" and \"redact\".");
            return scopes;
        }
        for (int i = 0; i < value.size(); i++) {
            Scope scope = Scope.of(value.get(i).asText()).orElse(Scope.ADMIN);
            if (!value.get(i).isTextual() || scope == Scope.ADMIN || !scopes.add(scope)) {
                fields.wrong("scopes/" + i, "It must be \"read\", \"write\", \"sequence\" or \"redact\", each once.");
            }
        }
        return scopes;
    }
}
