package dev.annals.access.grants;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limits;
import dev.annals.access.openid.Provider;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.access.tokens.IssuedToken;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.RequestFields;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Grants of projects, and the identities that have used them. A function of the schema makes each change: see R__45_administration.sql. */
@ApplicationScoped
class IdentityGrants {

    private static final Sql LIST_IDENTITY_GRANTS = Sql.named("access/grants/list_identity_grants");
    private static final Sql FIND_IDENTITY_GRANT = Sql.named("access/grants/find_identity_grant");
    private static final Sql GRANT_IDENTITY = Sql.named("access/grants/grant_identity");
    private static final Sql REVOKE_IDENTITY_GRANT = Sql.named("access/grants/revoke_identity_grant");
    private static final Sql LIST_IDENTITIES = Sql.named("access/grants/list_identities");

    private final Pool pool;
    private final SequentialGuid guids;
    private final AccessTokens tokens;
    private final Provider provider;

    IdentityGrants(Databases databases, SequentialGuid guids, AccessTokens tokens, Provider provider) {
        this.pool = databases.home().pool();
        this.guids = guids;
        this.tokens = tokens;
        this.provider = provider;
    }

    /**
     * Opens a project to the identities with a claim.
     *
     * @param limits of each identity by itself
     * @param revokedAt null while it is in force
     */
    record IdentityGrant(
            UUID id,
            String issuer,
            String claim,
            String value,
            List<String> scopes,
            @Nullable String description,
            Limits limits,
            OffsetDateTime createdAt,
            @Nullable OffsetDateTime revokedAt) {

        static IdentityGrant of(Row row) {
            return new IdentityGrant(
                    row.getUUID("id"),
                    row.getString("issuer"),
                    row.getString("claim"),
                    row.getString("value"),
                    List.of(row.getArrayOfStrings("scopes")),
                    row.getString("description"),
                    Limits.of(row.getString("limits")),
                    row.getOffsetDateTime("created_at"),
                    row.getOffsetDateTime("revoked_at"));
        }

        void write(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("id", id.toString());
            json.writeStringField("issuer", issuer);
            json.writeStringField("claim", claim);
            json.writeStringField("value", value);
            json.writeArrayFieldStart("scopes");
            for (String scope : scopes) {
                json.writeString(scope);
            }
            json.writeEndArray();
            json.writeStringField("description", description);
            json.writeFieldName("limits");
            limits.write(json);
            json.writeStringField("created_at", createdAt.toInstant().toString());
            json.writeStringField("revoked_at", IssuedToken.text(revokedAt));
            json.writeEndObject();
        }
    }

    /**
     * An identity that has used a grant.
     *
     * @param subject its name at the provider; null once it is erased
     */
    record KnownIdentity(UUID id, String issuer, @Nullable String subject, OffsetDateTime createdAt) {

        static KnownIdentity of(Row row) {
            return new KnownIdentity(
                    row.getUUID("id"),
                    row.getString("issuer"),
                    row.getString("subject"),
                    row.getOffsetDateTime("created_at"));
        }

        void write(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("id", id.toString());
            json.writeStringField("issuer", issuer);
            json.writeStringField("subject", subject);
            json.writeStringField("created_at", createdAt.toInstant().toString());
            json.writeEndObject();
        }
    }

    /**
     * {@code {"claim": "groups", "value": "auditors", "scopes": ["read"], …}}.
     *
     * @param issuer null for the provider of the settings
     */
    record NewGrant(
            @Nullable String issuer,
            String claim,
            String value,
            Set<Scope> scopes,
            @Nullable String description,
            Limits limits) {

        /** For issuers and values of claims. */
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
            Limits limits =
                    fields.get("limits") == null ? Limits.NONE : Limits.read(fields.object("limits", Limits.NAMES));
            fields.requireValid();
            return new NewGrant(
                    issuer, claim == null ? "" : claim, value == null ? "" : value, scopes, description, limits);
        }
    }

    Uni<Listed<IdentityGrant>> list(Project project, Listed.Part part) {
        return part.read(
                LIST_IDENTITY_GRANTS.bind("project_id", project.id()), pool, IdentityGrant::of, IdentityGrant::id);
    }

    Uni<IdentityGrant> make(Project project, NewGrant asked, Actor actor) {
        String issuer = asked.issuer() != null ? asked.issuer() : provider.issuer();
        if (issuer == null) {
            throw Projects.invalid("/issuer", "It is missing, and the settings name no provider.");
        }
        UUID id = guids.next();
        return run(
                        GRANT_IDENTITY
                                .bind("project_id", project.id())
                                .bind("id", id)
                                .bind("issuer", issuer)
                                .bind("claim", asked.claim())
                                .bind("value", asked.value())
                                .bind(
                                        "scopes",
                                        asked.scopes().stream().map(Scope::text).toArray(String[]::new))
                                .bind("description", asked.description())
                                .bind("limits", asked.limits().toJson()),
                        actor)
                .chain(() -> find(project, id));
    }

    /** A revoked grant stays revoked. */
    Uni<Void> revoke(Project project, UUID id, Actor actor) {
        return run(REVOKE_IDENTITY_GRANT.bind("project_id", project.id()).bind("id", id), actor)
                .replaceWithVoid();
    }

    Uni<Listed<KnownIdentity>> identities(Listed.Part part) {
        return part.read(LIST_IDENTITIES.binds(), pool, KnownIdentity::of, KnownIdentity::id);
    }

    private Uni<IdentityGrant> find(Project project, UUID id) {
        return Projects.one(
                FIND_IDENTITY_GRANT.bind("project_id", project.id()).bind("id", id), pool, IdentityGrant::of, "grant");
    }

    private Uni<RowSet<Row>> run(Binds command, Actor actor) {
        return Projects.run(command, actor, pool).invoke(tokens::changed);
    }
}
