package dev.annals.access.projects;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limits;
import dev.annals.access.places.DatabaseStates;
import dev.annals.access.places.Places;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.access.tokens.IssuedToken;
import dev.annals.access.tokens.TokenHash;
import dev.annals.access.tokens.TokenText;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlClient;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Projects, each with a feed of its own, and their tokens. A function of the schema makes each change and appends its event to
 * the administration's feed: see R__45_administration.sql.
 */
@ApplicationScoped
public class Projects {

    private static final Sql DESCRIBE_PROJECTS = Sql.named("access/projects/describe_projects");
    private static final Sql FIND_TO_ADOPT = Sql.named("access/projects/find_to_adopt");
    private static final Sql FIND_PROJECT = Sql.named("access/projects/find_project");
    private static final Sql LIST_PROJECTS = Sql.named("access/projects/list_projects");
    private static final Sql CREATE_PROJECT = Sql.named("access/projects/create_project");
    private static final Sql RENAME_PROJECT = Sql.named("access/projects/rename_project");
    private static final Sql SET_RETENTION = Sql.named("access/projects/set_retention");
    private static final Sql REQUIRE_ARCHIVE = Sql.named("access/projects/require_archive");
    private static final Sql REQUIRE_HERE = Sql.named("access/projects/require_here");
    private static final Sql CLOSE_PROJECT = Sql.named("access/projects/close_project");
    private static final Sql LIMIT_PROJECT = Sql.named("access/projects/limit_project");
    private static final Sql LIMIT_TOKEN = Sql.named("access/projects/limit_token");
    private static final Sql LIST_TOKENS = Sql.named("access/projects/list_tokens");
    private static final Sql FIND_TOKEN_BY_ID = Sql.named("access/projects/find_token_by_id");
    private static final Sql ISSUE_TOKEN = Sql.named("access/projects/issue_token");
    private static final Sql ISSUE_LINK = Sql.named("access/projects/issue_link");
    private static final Sql ROTATE_TOKEN = Sql.named("access/projects/rotate_token");
    private static final Sql REVOKE_TOKEN = Sql.named("access/projects/revoke_token");
    private static final Sql IS_NEW = Sql.named("access/projects/is_new");
    private static final Sql BEGIN_ADMINISTRATION = Sql.named("access/projects/begin_administration");

    /** The longest wait for what a database says about its projects. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    /** The pool of home. */
    private final Pool pool;

    private final Databases databases;
    private final DatabaseStates states;
    private final Places places;
    private final SequentialGuid guids;
    private final AccessTokens tokens;
    private final SecureRandom random = new SecureRandom();

    Projects(Databases databases, DatabaseStates states, Places places, SequentialGuid guids, AccessTokens tokens) {
        this.pool = databases.home().pool();
        this.databases = databases;
        this.states = states;
        this.places = places;
        this.guids = guids;
        this.tokens = tokens;
    }

    /**
     * A new link to the viewer.
     *
     * @param token shown only once
     * @param id of the token
     * @param subjectId null for any
     * @param actorId null for any
     */
    public record ViewerLink(
            String token,
            UUID id,
            UUID projectId,
            Set<Scope> scopes,
            @Nullable String subjectId,
            @Nullable String actorId,
            OffsetDateTime expiresAt) {

        public boolean isForWholeProject() {
            return scopes.contains(Scope.BROWSE);
        }
    }

    /** Shown only once. */
    record NewToken(IssuedToken issued, String token) {}

    /**
     * A token is null if it is not needed.
     *
     * @param restored true if the project is a restored archive
     */
    record FirstTokens(
            UUID projectId,
            boolean restored,
            @Nullable String token,
            @Nullable String admin) {}

    /**
     * The state of a database at a start.
     *
     * @param isNew true if it has no tokens, and no project but a restored archive
     * @param restored the project of a restored archive; null without one
     */
    record DatabaseState(boolean isNew, @Nullable UUID restored) {}

    /**
     * Finds the project with an id or a name, as home describes it.
     *
     * @return fails with {@code not-found}
     */
    public Uni<Project> find(String idOrName) {
        if (idOrName.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            // PostgreSQL cannot store these.
            return Uni.createFrom().failure(noSuchProject());
        }
        UUID id = CanonicalGuid.parse(idOrName);
        return DatabaseFailure.retried(FIND_PROJECT
                        .bind("id", id)
                        .bind("name", id == null ? idOrName : null)
                        .execute(pool))
                .map(rows -> rows.iterator().hasNext() ? found(rows.iterator().next()) : null)
                .onItem()
                .ifNull()
                .failWith(Projects::noSuchProject);
    }

    private Project found(Row row) {
        places.note(row.getUUID("id"), row.getString("database"));
        return project(row);
    }

    private Project project(Row row) {
        Project project = Project.of(row, databases.home().name());
        return project.database().equals(databases.home().name()) ? project : project.with(null);
    }

    Uni<Listed<Project>> list(Listed.Part part) {
        return part.read(LIST_PROJECTS.binds(), pool, this::project, Project::id)
                .chain(listed -> described(listed.items()).map(described -> new Listed<>(described, listed.next())));
    }

    /** As the projects' databases describe them, as far as they answer in time. */
    Uni<List<Project>> described(List<Project> projects) {
        Map<String, List<Project>> elsewhere = projects.stream()
                .filter(project -> !project.database().equals(databases.home().name()))
                .collect(Collectors.groupingBy(Project::database));
        if (elsewhere.isEmpty()) {
            return Uni.createFrom().item(projects);
        }
        List<Uni<Map<UUID, Row>>> asked = elsewhere.entrySet().stream()
                .map(part -> describe(part.getKey(), part.getValue()))
                .toList();
        return Uni.join().all(asked).andFailFast().map(answers -> {
            Map<UUID, Row> found = new HashMap<>();
            answers.forEach(found::putAll);
            return projects.stream()
                    .map(project -> found.containsKey(project.id()) ? project.with(found.get(project.id())) : project)
                    .toList();
        });
    }

    /** As its database describes it, if it answers in time. */
    public Uni<Project> described(Project project) {
        return described(List.of(project)).map(described -> described.get(0));
    }

    private Uni<Map<UUID, Row>> describe(String database, List<Project> projects) {
        return DESCRIBE_PROJECTS
                .bind("ids", projects.stream().map(Project::id).toArray(UUID[]::new))
                .execute(databases.of(database).reads())
                .map(rows -> {
                    Map<UUID, Row> found = new HashMap<>();
                    rows.forEach(row -> found.put(row.getUUID("id"), row));
                    return found;
                })
                .ifNoItem()
                .after(PATIENCE)
                .fail()
                .onFailure()
                .recoverWithItem(Map.of());
    }

    /** Their names, home first. */
    List<String> databases() {
        return databases.all().stream().map(Database::name).toList();
    }

    /**
     * Creates a project in home and in its database, which commits first: without home, no one finds the project, and the next try with
     * the name goes on with it.
     */
    Uni<Project> create(ProjectRequests.NewProject asked, Actor actor) {
        Uni<Database> chosen =
                asked.database() == null ? states.emptiest() : Uni.createFrom().item(databases.of(asked.database()));
        return chosen.chain(database -> {
                    if (database == databases.home()) {
                        UUID id = guids.next();
                        return run(create(id, asked.name(), null), actor).replaceWith(id);
                    }
                    return createIn(database, asked.name(), actor);
                })
                .chain(id -> find(id.toString()))
                .chain(this::described);
    }

    private static Binds create(UUID id, String name, @Nullable String database) {
        return CREATE_PROJECT.bind("id", id).bind("name", name).bind("database", database);
    }

    private Uni<UUID> createIn(Database database, String name, Actor actor) {
        return DatabaseFailure.retried(FIND_TO_ADOPT.bind("name", name).execute(database.pool()))
                .chain(rows -> {
                    UUID adopted =
                            rows.size() == 0 ? null : rows.iterator().next().getUUID("id");
                    UUID id = adopted == null ? guids.next() : adopted;
                    return pool.withTransaction(home -> run(create(id, name, database.name()), actor, home)
                                    .chain(() -> adopted == null
                                            ? run(create(id, name, null), actor, database.pool())
                                                    .replaceWithVoid()
                                            : Uni.createFrom().voidItem()))
                            .invoke(() -> places.note(id, database.name()))
                            .replaceWith(id);
                });
    }

    /** Makes a change in home and in the project's database, which commits first, so that a repetition ends what was interrupted. */
    private Uni<Void> both(Project project, Function<SqlClient, Uni<Void>> change) {
        return places.on(project.id(), database -> both(project, database, change));
    }

    private Uni<Void> both(Project project, Database database, Function<SqlClient, Uni<Void>> change) {
        Function<SqlClient, Uni<Void>> here = client -> change.apply(client)
                .chain(() -> REQUIRE_HERE.bind("project_id", project.id()).execute(client))
                .replaceWithVoid();
        if (database == databases.home()) {
            return pool.withTransaction(here::apply);
        }
        Pool own = database.pool();
        // A database that does not answer must hold no connection of home.
        return DatabaseFailure.retried(own.query("select 1").execute())
                .chain(() ->
                        pool.withTransaction(home -> change.apply(home).chain(() -> own.withTransaction(here::apply))));
    }

    /** Makes all of a change, or none. */
    Uni<Project> change(Project project, ProjectRequests.ProjectChange change, Actor actor) {
        return both(project, connection -> {
                    Uni<Void> done = Uni.createFrom().voidItem();
                    if (change.name() != null) {
                        done = done.chain(() -> run(
                                        RENAME_PROJECT.bind("id", project.id()).bind("name", change.name()),
                                        actor,
                                        connection))
                                .replaceWithVoid();
                    }
                    if (change.changesRetention()) {
                        done = done.chain(() -> run(
                                        SET_RETENTION
                                                .bind("id", project.id())
                                                .bind("retention_days", change.retentionDays()),
                                        actor,
                                        connection))
                                .replaceWithVoid();
                    }
                    if (change.archiveRequired() != null) {
                        done = done.chain(() -> run(
                                        REQUIRE_ARCHIVE
                                                .bind("id", project.id())
                                                .bind("required", change.archiveRequired()),
                                        actor,
                                        connection))
                                .replaceWithVoid();
                    }
                    return done;
                })
                .chain(() -> changed(project));
    }

    private Uni<Project> changed(Project project) {
        return find(project.id().toString()).chain(this::described);
    }

    /** A closed project stays closed. */
    Uni<Project> close(Project project, Actor actor) {
        return both(
                        project,
                        client -> run(CLOSE_PROJECT.bind("id", project.id()), actor, client)
                                .replaceWithVoid())
                .invoke(tokens::changed)
                .chain(() -> changed(project));
    }

    Uni<Project> limit(Project project, Limits limits, Actor actor) {
        return both(
                        project,
                        client -> run(
                                        LIMIT_PROJECT.bind("id", project.id()).bind("limits", limits.toJson()),
                                        actor,
                                        client)
                                .replaceWithVoid())
                .invoke(tokens::changed)
                .chain(() -> changed(project));
    }

    Uni<IssuedToken> limit(Project project, UUID id, Limits limits, Actor actor) {
        return run(LIMIT_TOKEN.bind("project_id", project.id()).bind("id", id).bind("limits", limits.toJson()), actor)
                .invoke(tokens::changed)
                .chain(() -> token(project.id(), id));
    }

    Uni<Listed<IssuedToken>> tokens(Project project, Listed.Part part) {
        return part.read(LIST_TOKENS.bind("project_id", project.id()), pool, IssuedToken::of, IssuedToken::id);
    }

    /**
     * Finds a token of a project.
     *
     * @return fails with {@code not-found}
     */
    public Uni<IssuedToken> token(UUID projectId, UUID id) {
        return one(FIND_TOKEN_BY_ID.bind("project_id", projectId).bind("id", id), pool, IssuedToken::of, "token");
    }

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

    public Uni<ViewerLink> link(Caller caller, byte[] request, Actor actor) {
        ProjectRequests.NewLink asked = ProjectRequests.NewLink.read(request);
        asked.requireMaker(caller);
        String token = TokenText.draw(random);
        UUID id = guids.next();
        return run(
                        ISSUE_LINK
                                .bind("project_id", caller.projectId())
                                .bind("id", id)
                                .bind("token_hash", TokenHash.of(token).buffer())
                                .bind(
                                        "scopes",
                                        asked.scopes().stream().map(Scope::text).toArray(String[]::new))
                                .bind("filter", asked.filter())
                                .bind("seconds", asked.seconds()),
                        actor)
                .invoke(made -> tokens.issued(TokenHash.of(token)))
                .chain(() -> token(caller.projectId(), id))
                .map(issued -> new ViewerLink(
                        token,
                        id,
                        caller.projectId(),
                        asked.scopes(),
                        issued.subjectId(),
                        issued.actorId(),
                        Objects.requireNonNull(issued.expiresAt())));
    }

    /** The old token ends after the overlap. */
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

    /** A revoked token stays revoked. */
    Uni<Void> revoke(Project project, UUID id, Actor actor) {
        return run(REVOKE_TOKEN.bind("project_id", project.id()).bind("id", id), actor)
                .invoke(tokens::changed)
                .replaceWithVoid();
    }

    private Uni<NewToken> made(Project project, UUID id, String token) {
        tokens.issued(TokenHash.of(token));
        return token(project.id(), id).map(issued -> new NewToken(issued, token));
    }

    Uni<DatabaseState> databaseState() {
        return DatabaseFailure.retried(IS_NEW.execute(pool))
                .map(rows -> rows.iterator().next())
                .map(row -> new DatabaseState(row.getBoolean("is_new"), row.getUUID("restored")));
    }

    /** {@link #begin} makes them valid. */
    FirstTokens drawFirst(@Nullable UUID restored) {
        return new FirstTokens(
                restored == null ? guids.next() : restored,
                restored != null,
                TokenText.draw(random),
                tokens.hasConfiguredAdmin() ? null : TokenText.draw(random));
    }

    FirstTokens withoutTokens() {
        return new FirstTokens(guids.next(), false, null, null);
    }

    /** Creates the first project and tokens; false if the database has some. */
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
        return run(command, actor, pool);
    }

    /**
     * Records the actor in the event.
     *
     * @return fails with a {@link ProblemException} if a constraint refuses the command
     */
    public static Uni<RowSet<Row>> run(Binds command, Actor actor, SqlClient client) {
        return command.bind("actor_token", actor.token())
                .bind("address", actor.address())
                .execute(client)
                .onFailure(PgException.class)
                .transform(Projects::explained);
    }

    /**
     * Finds one thing of a project.
     *
     * @param what its noun, for the caller
     * @return fails with {@code not-found}
     */
    public static <T> Uni<T> one(Binds find, Pool pool, Function<Row, T> read, String what) {
        return DatabaseFailure.retried(find.execute(pool)).map(rows -> {
            if (!rows.iterator().hasNext()) {
                throw unknown(what);
            }
            return read.apply(rows.iterator().next());
        });
    }

    static ProblemException unknown(String what) {
        return new ProblemException(ProblemType.NOT_FOUND, "The project has no " + what + " with this id.");
    }

    private static Throwable explained(PgException failure) {
        return switch (Optional.ofNullable(failure.getConstraint()).orElse("")) {
            case "project_known",
                    "access_token_project_fkey",
                    "legal_hold_project_fkey",
                    "identity_grant_project_fkey" -> noSuchProject();
            case "archive_next" ->
                new ProblemException(
                        ProblemType.ARCHIVE_NOT_NEXT,
                        "The file does not begin with the record after archived_through, or ends after the project's log."
                                + " Another archive may have been recorded meanwhile: see the project.");
            case "access_token_known" -> unknown("token");
            case "legal_hold_known" -> unknown("hold");
            case "identity_grant_known" -> unknown("grant");
            case "access_token_live" ->
                new ProblemException(
                        ProblemType.TOKEN_ENDED,
                        "This token has ended, was replaced, or belongs to a link. Issue a new one.");
            case "access_token_administrator" ->
                new ProblemException(
                        ProblemType.UNAUTHORIZED, "The token has ended. Ask the administrator for a new one.");
            case "identity_administrator" ->
                new ProblemException(
                        ProblemType.FORBIDDEN, "Your grant was revoked. Ask the administrator for a new one.");
            // The second refuses a project that a member has under the name, and that home knows. The others refuse the
            // name annals in a member, and for a project with retention.
            case "project_name_key", "project_pkey", "project_placement_reserved", "project_retention_reserved" ->
                new ProblemException(
                        ProblemType.PROJECT_NAME_TAKEN, "A project with this name exists. Choose another name.");
            case "project_name_reserved" ->
                new ProblemException(
                        ProblemType.PROJECT_NAME_TAKEN,
                        "This name is too similar to the project annals. Choose another name.");
            case "project_name_no_other_id" ->
                invalid("/name", "It must not look like an id, because requests name projects by id or by name.");
            case "project_reserved" ->
                new ProblemException(
                        ProblemType.FORBIDDEN,
                        "The project of an administration cannot be renamed or closed, and its records never expire: they record what the"
                                + " administration did.");
            case "access_token_scopes", "identity_grant_scopes" ->
                invalid(
                        "/scopes",
                        "Tokens and grants of the project annals have \"audit\" or \"admin\", those of other projects have neither,"
                                + " and those of a member's administration have \"read\" alone.");
            case "access_token_expires_at" -> invalid("/expires_at", "It must be in the future.");
            default -> failure;
        };
    }

    public static ProblemException invalid(String pointer, String detail) {
        return new ProblemException(Problem.of(ProblemType.INVALID_BODY, "A field is wrong; errors names it.")
                .withErrors(List.of(new FieldError(pointer, detail))));
    }

    private static ProblemException noSuchProject() {
        return new ProblemException(ProblemType.NOT_FOUND, "No project has this id or name.");
    }
}
