package dev.annals.access.grants;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Scope;
import dev.annals.access.openid.Provider;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.UUID;

/** Grants of projects, and who has come by them. Each change is a function of the schema: see R__45_administration.sql. */
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

    IdentityGrants(Pool pool, SequentialGuid guids, AccessTokens tokens, Provider provider) {
        this.pool = pool;
        this.guids = guids;
        this.tokens = tokens;
        this.provider = provider;
    }

    Uni<Listed<IdentityGrant>> list(Project project, Listed.Part part) {
        return part.read(
                LIST_IDENTITY_GRANTS.bind("project_id", project.id()), pool, IdentityGrant::of, IdentityGrant::id);
    }

    /** Opens a project to whoever has a claim. */
    Uni<IdentityGrant> make(Project project, NewGrant asked, Actor actor) {
        String issuer = asked.issuer() != null ? asked.issuer() : provider.issuer();
        if (issuer == null) {
            throw Projects.invalid("/issuer", "It is missing, and the settings name no provider either.");
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

    /** Revokes a grant, or leaves it revoked. */
    Uni<Void> revoke(Project project, UUID id, Actor actor) {
        return run(REVOKE_IDENTITY_GRANT.bind("project_id", project.id()).bind("id", id), actor)
                .replaceWithVoid();
    }

    Uni<Listed<KnownIdentity>> identities(Listed.Part part) {
        return part.read(LIST_IDENTITIES.binds(), pool, KnownIdentity::of, KnownIdentity::id);
    }

    private Uni<IdentityGrant> find(Project project, UUID id) {
        return DatabaseFailure.retried(FIND_IDENTITY_GRANT
                        .bind("project_id", project.id())
                        .bind("id", id)
                        .execute(pool))
                .map(rows -> {
                    if (!rows.iterator().hasNext()) {
                        throw new ProblemException(ProblemType.NOT_FOUND, "The project has no grant with this id.");
                    }
                    return IdentityGrant.of(rows.iterator().next());
                });
    }

    private Uni<RowSet<Row>> run(Binds command, Actor actor) {
        return command.bind("actor_token", actor.token())
                .bind("address", actor.address())
                .execute(pool)
                .onFailure(PgException.class)
                .transform(Projects::explained)
                .invoke(tokens::changed);
    }
}
