package dev.annals.access.grants;

import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.http.RequestFields;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code {"claim": "groups", "value": "auditors", "scopes": ["read"], …}}.
 *
 * @param issuer null: that of the settings
 */
record NewGrant(
        @Nullable String issuer,
        String claim,
        String value,
        Set<Scope> scopes,
        @Nullable String description,
        Limits limits) {

    /** Of what a provider calls itself, and of the values of its claims. */
    private static final int MAX_TEXT = 1_024;

    static NewGrant read(byte[] body) {
        RequestFields fields =
                new RequestFields(body, Set.of("issuer", "claim", "value", "scopes", "description", "limits"));
        String issuer = fields.text("issuer", MAX_TEXT, fields.has("issuer"));
        String claim = fields.text("claim", 255, true);
        String value = fields.text("value", MAX_TEXT, true);
        Set<Scope> scopes = Scope.read(fields);
        if (scopes.contains(Scope.LINK)) {
            fields.wrong("scopes", "\"link\" is for the tokens of applications: links end with their token.");
        }
        String description = fields.text("description", 1024, false);
        Limits limits = fields.get("limits") == null ? Limits.NONE : Limits.read(fields.object("limits", Limits.NAMES));
        fields.requireValid();
        return new NewGrant(
                issuer, claim == null ? "" : claim, value == null ? "" : value, scopes, description, limits);
    }
}
