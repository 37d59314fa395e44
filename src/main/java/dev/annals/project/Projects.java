package dev.annals.project;

import dev.annals.database.Binds;
import dev.annals.database.DatabaseFailure;
import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.http.FieldError;
import dev.annals.http.Problem;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Projects, each of which owns a feed, and their tokens. Every change is a function of the schema, which appends the event that
 * says so to the administration's feed: see V11__administration.sql.
 */
@ApplicationScoped
public class Projects {

    private static final Sql FIND_PROJECT = Sql.named("find_project");
    private static final Sql LIST_PROJECTS = Sql.named("list_projects");
    private static final Sql CREATE_PROJECT = Sql.named("create_project");
    private static final Sql RENAME_PROJECT = Sql.named("rename_project");
    private static final Sql CLOSE_PROJECT = Sql.named("close_project");
    private static final Sql LIST_TOKENS = Sql.named("list_tokens");
    private static final Sql FIND_TOKEN_BY_ID = Sql.named("find_token_by_id");
    private static final Sql ISSUE_TOKEN = Sql.named("issue_token");
    private static final Sql ROTATE_TOKEN = Sql.named("rotate_token");
    private static final Sql REVOKE_TOKEN = Sql.named("revoke_token");
    private static final Sql IS_NEW = Sql.named("is_new");
    private static final Sql BEGIN_ADMINISTRATION = Sql.named("begin_administration");

    private final Pool pool;
    private final SequentialGuid guids;
    private final AccessTokens tokens;
    private final SecureRandom random = new SecureRandom();

    Projects(Pool pool, SequentialGuid guids, AccessTokens tokens) {
        this.pool = pool;
        this.guids = guids;
        this.tokens = tokens;
    }

    /**
     * Who changes something, for its event.
     *
     * @param token null for the admin token of the settings
     * @param address from where
     */
    record Actor(@Nullable UUID token, @Nullable String address) {}

    /**
     * Some of a list.
     *
     * @param next the id after which it goes on; null at its end
     */
    record Listed<T>(List<T> items, @Nullable UUID next) {}

    /** A token that was made now. */
    record NewToken(IssuedToken issued, String token) {}

    /** The first project of a database, and its first tokens, so far as there are to be any. */
    record FirstTokens(
            UUID projectId,
            @Nullable String token,
            @Nullable String admin) {}

    /**
     * The project with an id or a name.
     *
     * @return fails with {@code not-found}
     */
    Uni<Project> find(String idOrName) {
        if (idOrName.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            // No text of PostgreSQL has these.
            return Uni.createFrom().failure(noSuchProject());
        }
        UUID id = id(idOrName);
        return DatabaseFailure.retried(FIND_PROJECT
                        .bind("id", id)
                        .bind("name", id == null ? idOrName : null)
                        .execute(pool))
                .map(rows ->
                        rows.iterator().hasNext() ? Project.of(rows.iterator().next()) : null)
                .onItem()
                .ifNull()
                .failWith(Projects::noSuchProject);
    }

    Uni<Listed<Project>> list(UUID after, int limit) {
        return DatabaseFailure.retried(LIST_PROJECTS
                        .bind("after", after)
                        .bind("most", limit + 1)
                        .execute(pool))
                .map(rows -> listed(rows, limit, Project::of, Project::id));
    }

    Uni<Project> create(String name, Actor actor) {
        UUID id = guids.next();
        return run(CREATE_PROJECT.bind("id", id).bind("name", name), actor).chain(() -> find(id.toString()));
    }

    Uni<Project> rename(Project project, String name, Actor actor) {
        return run(RENAME_PROJECT.bind("id", project.id()).bind("name", name), actor)
                .chain(() -> find(project.id().toString()));
    }

    /** Closes a project, or leaves it closed. */
    Uni<Project> close(Project project, Actor actor) {
        return run(CLOSE_PROJECT.bind("id", project.id()), actor)
                .invoke(tokens::changed)
                .chain(() -> find(project.id().toString()));
    }

    Uni<Listed<IssuedToken>> tokens(Project project, UUID after, int limit) {
        return DatabaseFailure.retried(LIST_TOKENS
                        .bind("project_id", project.id())
                        .bind("after", after)
                        .bind("most", limit + 1)
                        .execute(pool))
                .map(rows -> listed(rows, limit, IssuedToken::of, IssuedToken::id));
    }

    /**
     * A token of a project.
     *
     * @return fails with {@code not-found}
     */
    Uni<IssuedToken> token(UUID projectId, UUID id) {
        return DatabaseFailure.retried(FIND_TOKEN_BY_ID
                        .bind("project_id", projectId)
                        .bind("id", id)
                        .execute(pool))
                .map(rows -> rows.iterator().hasNext()
                        ? IssuedToken.of(rows.iterator().next())
                        : null)
                .onItem()
                .ifNull()
                .failWith(Projects::noSuchToken);
    }

    /** Makes a token for a project. */
    Uni<NewToken> issue(Project project, ProjectRequests.NewToken asked, Actor actor) {
        String token = TokenText.draw(random);
        UUID id = guids.next();
        return run(
                        ISSUE_TOKEN
                                .bind("project_id", project.id())
                                .bind("id", id)
                                .bind("token_hash", TokenHash.of(token).buffer())
                                .bind(
                                        "scopes",
                                        asked.scopes().stream().map(Scope::text).toArray(String[]::new))
                                .bind("description", asked.description())
                                .bind("expires_at", asked.expiresAt())
                                .bind(
                                        "allowed_addresses",
                                        asked.allowedAddresses().toArray(String[]::new)),
                        actor)
                .chain(() -> made(project, id, token));
    }

    /** Makes a token in the place of another, which ends after the overlap. */
    Uni<NewToken> rotate(Project project, UUID old, int overlapSeconds, Actor actor) {
        String token = TokenText.draw(random);
        UUID id = guids.next();
        return run(
                        ROTATE_TOKEN
                                .bind("project_id", project.id())
                                .bind("id", old)
                                .bind("new_id", id)
                                .bind("token_hash", TokenHash.of(token).buffer())
                                .bind("overlap", overlapSeconds),
                        actor)
                .invoke(tokens::changed)
                .chain(() -> made(project, id, token));
    }

    /** Revokes a token, or leaves it revoked. */
    Uni<Void> revoke(Project project, UUID id, Actor actor) {
        return run(REVOKE_TOKEN.bind("project_id", project.id()).bind("id", id), actor)
                .invoke(tokens::changed)
                .replaceWithVoid();
    }

    private Uni<NewToken> made(Project project, UUID id, String token) {
        tokens.issued(TokenHash.of(token));
        return token(project.id(), id).map(issued -> new NewToken(issued, token));
    }

    /** Whether the database has neither projects nor tokens. */
    Uni<Boolean> isNew() {
        return DatabaseFailure.retried(IS_NEW.execute(pool))
                .map(rows -> rows.iterator().next().getBoolean("is_new"));
    }

    /** Draws the first tokens of a database; they count once {@link #begin} says so. */
    FirstTokens drawFirst() {
        return new FirstTokens(
                guids.next(), TokenText.draw(random), tokens.hasConfiguredAdmin() ? null : TokenText.draw(random));
    }

    /** The first project alone. */
    FirstTokens withoutTokens() {
        return new FirstTokens(guids.next(), null, null);
    }

    /** Makes the first project and tokens; false if the database has some. */
    Uni<Boolean> begin(FirstTokens first) {
        return BEGIN_ADMINISTRATION
                .bind("admin_id", guids.next())
                .bind("admin_hash", hash(first.admin()))
                .bind("project_id", first.projectId())
                .bind("token_id", guids.next())
                .bind("token_hash", hash(first.token()))
                .execute(pool)
                .map(rows -> rows.iterator().next().getBoolean("made"));
    }

    private static @Nullable Buffer hash(@Nullable String token) {
        return token == null ? null : TokenHash.of(token).buffer();
    }

    private Uni<RowSet<Row>> run(Binds command, Actor actor) {
        return command.bind("actor_token", actor.token())
                .bind("address", actor.address())
                .execute(pool)
                .onFailure(PgException.class)
                .transform(Projects::explained);
    }

    private static <T> Listed<T> listed(RowSet<Row> rows, int limit, Function<Row, T> read, Function<T, UUID> id) {
        List<T> items = new ArrayList<>();
        for (Row row : rows) {
            if (items.size() == limit) {
                return new Listed<>(items, id.apply(items.get(limit - 1)));
            }
            items.add(read.apply(row));
        }
        return new Listed<>(items, null);
    }

    private static @Nullable UUID id(String text) {
        return text.length() == 36 && text.matches("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
                ? UUID.fromString(text)
                : null;
    }

    /** The constraint says what is wrong. */
    private static Throwable explained(PgException failure) {
        return switch (Optional.ofNullable(failure.getConstraint()).orElse("")) {
            case "project_known", "access_token_project_fkey" -> noSuchProject();
            case "access_token_known" -> noSuchToken();
            case "access_token_live" ->
                new ProblemException(
                        ProblemType.TOKEN_ENDED, "This token has ended, or was replaced before. Issue a new one.");
            case "access_token_administrator" ->
                new ProblemException(
                        ProblemType.UNAUTHORIZED, "The token has ended. Ask the administrator for a new one.");
            case "project_name_key" ->
                new ProblemException(
                        ProblemType.PROJECT_NAME_TAKEN, "There is a project with this name. Choose another name.");
            case "project_name_reserved" ->
                new ProblemException(
                        ProblemType.PROJECT_NAME_TAKEN,
                        "This name is too like that of the project annals. Choose another name.");
            case "project_name_no_other_id" ->
                invalid("/name", "It must not look like an id: projects are named by either.");
            case "project_reserved" ->
                new ProblemException(
                        ProblemType.FORBIDDEN,
                        "The project annals can be neither renamed nor closed: it holds what the administration did.");
            case "access_token_scopes" ->
                invalid(
                        "/scopes",
                        "Tokens of the project annals have \"audit\" or \"admin\", and those of other projects neither.");
            case "access_token_expires_at" -> invalid("/expires_at", "It must be in the future.");
            default -> failure;
        };
    }

    private static ProblemException invalid(String pointer, String detail) {
        return new ProblemException(Problem.of(ProblemType.INVALID_BODY, "A field is wrong; errors names it.")
                .withErrors(List.of(new FieldError(pointer, detail))));
    }

    private static ProblemException noSuchProject() {
        return new ProblemException(ProblemType.NOT_FOUND, "There is no project with this id or name.");
    }

    private static ProblemException noSuchToken() {
        return new ProblemException(ProblemType.NOT_FOUND, "The project has no token with this id.");
    }
}
