package dev.annals.derived.move;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.caller.Actor;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.access.tokens.IssuedToken;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Members;
import dev.annals.kernel.database.NamedDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestFields;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Moves of projects as administrators ask for them. Functions of the schema start and cancel them in home: see R__78_move.sql. */
@ApplicationScoped
class Moves {

    private static final Sql START_MOVE = Sql.named("derived/move/start_move");
    private static final Sql CANCEL_MOVE = Sql.named("derived/move/cancel_move");
    private static final Sql FIND_NEWEST_MOVE = Sql.named("derived/move/find_newest_move");
    private static final Sql FIND_OBSTACLES = Sql.named("derived/move/find_obstacles");
    private static final Sql FEED_END = Sql.named("derived/move/feed_end");

    private static final String ADMINISTRATION = "annals";
    /** The longest wait for the end of the feed. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final Databases databases;
    private final Members members;
    private final MoveCarrier carrier;
    private final SequentialGuid guids;

    Moves(Databases databases, Members members, MoveCarrier carrier, SequentialGuid guids) {
        this.databases = databases;
        this.members = members;
        this.carrier = carrier;
        this.guids = guids;
    }

    /**
     * A move as the service shows it.
     *
     * @param source the name of a database, like {@code target}
     * @param state of {@code annals.move}
     * @param head the last sequence id of the feed; null if it is not known
     * @param error of the last try; null if it went on since
     * @param endedAt null while it goes on
     */
    record Shown(
            UUID id,
            UUID projectId,
            String source,
            String target,
            String state,
            long copied,
            @Nullable Long head,
            @Nullable String error,
            OffsetDateTime requestedAt,
            @Nullable OffsetDateTime endedAt) {

        static Shown of(Row row) {
            OffsetDateTime endedAt = row.getOffsetDateTime("ended_at");
            return new Shown(
                    row.getUUID("id"),
                    row.getUUID("project_id"),
                    row.getString("source"),
                    row.getString("target"),
                    row.getString("state"),
                    row.getLong("copied"),
                    row.getLong("head"),
                    endedAt == null ? row.getString("last_error") : null,
                    row.getOffsetDateTime("started_at"),
                    endedAt);
        }

        Shown with(Long end) {
            return new Shown(id, projectId, source, target, state, copied, end, error, requestedAt, endedAt);
        }

        void write(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("id", id.toString());
            json.writeStringField("project", projectId.toString());
            json.writeStringField("from", source);
            json.writeStringField("database", target);
            json.writeStringField("state", state.equals("done") ? "moved" : state);
            json.writeNumberField("copied", copied);
            json.writeObjectField("last_sequence_id", head);
            json.writeStringField("error", error);
            json.writeStringField("requested_at", requestedAt.toInstant().toString());
            json.writeStringField("ended_at", IssuedToken.text(endedAt));
            json.writeEndObject();
        }
    }

    /** Reads {@code {"database": "…"}}. */
    Database readTarget(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("database"));
        String name = fields.text("database", 31, true);
        List<String> known = databases.all().stream().map(Database::name).toList();
        if (name != null && !known.contains(name)) {
            fields.wrong("database", "It must be one of " + String.join(", ", known) + ".");
        } else if (name != null && !members.isUsed(databases.of(name))) {
            fields.wrong("database", "This instance does not use it yet: see GET /v1/databases and the log.");
        }
        fields.requireValid();
        return databases.of(name == null ? "" : name);
    }

    Uni<Shown> start(Project project, Database target, Actor actor) {
        if (project.name().equals(ADMINISTRATION)) {
            throw refused("The project annals does not move: each database has its own.");
        }
        Database source = databases.of(project.database());
        UUID id = guids.next();
        return requireMovable(project, source, target)
                .chain(() -> Projects.run(
                        START_MOVE
                                .bind("id", id)
                                .bind("project_id", project.id())
                                .bind("home", databases.home().name())
                                .bind("target", target.name()),
                        actor,
                        databases.home().pool()))
                .onFailure(PgException.class)
                .transform(failure -> explained(failure, target))
                .invoke(() -> carrier.wake(id, project.id(), target.name()))
                .chain(() -> newest(project.id()));
    }

    /** The databases refuse it, too, but only once the move goes on. */
    private static Uni<Void> requireMovable(Project project, Database source, Database target) {
        if (source == target) {
            throw isThere(target);
        }
        if (source.pinned() || target.pinned()) {
            Database pinned = source.pinned() ? source : target;
            throw refused("The database " + pinned
                    + " is pinned: its projects stay, and others stay away. See its setting "
                    + NamedDatabase.variables(pinned.name()) + "PINNED.");
        }
        return obstacles(project, source)
                .invoke(row -> {
                    if (row.getBoolean("restored")) {
                        throw refused("The project is a restored archive, which stays where it was restored.");
                    }
                })
                .chain(() -> obstacles(project, target))
                .invoke(row -> {
                    if (row.getBoolean("copied")) {
                        throw refused("The database " + target
                                + " keeps a copy of the project, since it left. Remove the"
                                + " copy first, as the owner of its schema: select annals.remove_left('" + project.id()
                                + "', 10000), until it returns 0.");
                    }
                })
                .replaceWithVoid();
    }

    private static Uni<Row> obstacles(Project project, Database database) {
        return DatabaseFailure.retried(
                        FIND_OBSTACLES.bind("project_id", project.id()).execute(database.pool()))
                .map(rows -> rows.iterator().next());
    }

    private static Throwable explained(PgException failure, Database target) {
        return switch (String.valueOf(failure.getConstraint())) {
            case "move_one" ->
                refused("The project is moving already. Wait until this move ends, or cancel it: see its move.");
            case "move_ends" -> isThere(target);
            default -> failure;
        };
    }

    private static ProblemException isThere(Database target) {
        return refused("The project is in the database " + target + " already.");
    }

    private static ProblemException refused(String detail) {
        return new ProblemException(ProblemType.MOVE_REFUSED, detail);
    }

    /** Fails with {@code not-found} if the project never moved. */
    Uni<Shown> newest(UUID projectId) {
        return find(projectId)
                .chain(move -> move.head() != null ? Uni.createFrom().item(move) : withEnd(move));
    }

    private Uni<Shown> find(UUID projectId) {
        return DatabaseFailure.retried(FIND_NEWEST_MOVE
                        .bind("project_id", projectId)
                        .execute(databases.home().pool()))
                .map(rows -> {
                    if (rows.size() == 0) {
                        throw new ProblemException(ProblemType.NOT_FOUND, "The project has never moved.");
                    }
                    return Shown.of(rows.iterator().next());
                });
    }

    private Uni<Shown> withEnd(Shown move) {
        return FEED_END.bind("project_id", move.projectId())
                .execute(databases.of(move.source()).reads())
                .map(rows -> move.with(rows.iterator().next().getLong("head")))
                .ifNoItem()
                .after(PATIENCE)
                .fail()
                .onFailure()
                .recoverWithItem(move);
    }

    Uni<Shown> cancel(UUID projectId, Actor actor) {
        return find(projectId)
                .chain(move -> move.endedAt() != null
                        ? Uni.createFrom().item(false)
                        : Projects.run(
                                        CANCEL_MOVE.bind("id", move.id()),
                                        actor,
                                        databases.home().pool())
                                .map(rows -> rows.iterator().next().getBoolean("cancelled"))
                                .invoke(() -> carrier.wake(move.id(), projectId, move.target())))
                .invoke(cancelled -> {
                    if (!cancelled) {
                        throw new ProblemException(
                                ProblemType.MOVE_DECIDED,
                                "The move is switched or has ended. To undo it, move the project back.");
                    }
                })
                .chain(() -> newest(projectId));
    }
}
