package dev.annals.edges.viewer;

import dev.annals.access.caller.Actor;
import dev.annals.access.places.Places;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The saved views of projects. Functions of the schema change them, and append the events: see R__77_saved_view.sql. */
@ApplicationScoped
class SavedViews {

    private static final Sql SET_VIEW = Sql.named("edges/viewer/set_view");
    private static final Sql DELETE_VIEW = Sql.named("edges/viewer/delete_view");
    private static final Sql FIND_VIEWS = Sql.named("edges/viewer/find_views");
    /** The most views of a project: more than a person reads in a list. */
    static final int MOST = 100;

    private static final int CHANGES = 2;
    private static final int WAITING = 16;
    private static final Duration CHANGE_WAIT = Duration.ofSeconds(10);

    private final Places places;
    private final SequentialGuid guids;
    /** A change waits for the lock on its project, and holds a connection while it waits. */
    private final Bulkhead changes =
            new Bulkhead(CHANGES, WAITING, CHANGE_WAIT, "Too many views are changed at a time: try again.");

    SavedViews(Places places, SequentialGuid guids) {
        this.places = places;
        this.guids = guids;
    }

    record Defined(SavedView view, boolean created) {}

    Uni<List<SavedView>> list(UUID projectId) {
        return find(projectId, null);
    }

    private Uni<List<SavedView>> find(UUID projectId, @Nullable String name) {
        return places.on(
                projectId,
                database -> DatabaseFailure.retried(FIND_VIEWS
                        .bind("project_id", projectId)
                        .bind("name", name)
                        .bind("most", MOST)
                        .execute(database.pool())
                        .map(rows -> rows.stream().map(SavedView::of).toList())));
    }

    /**
     * Makes or replaces a view.
     *
     * @return fails with {@code too-many-views}, and with {@code not-found} if it is deleted meanwhile
     */
    Uni<Defined> set(UUID projectId, String name, SavedView.Content content, Actor actor) {
        UUID id = guids.next();
        return change(
                        projectId,
                        SET_VIEW.bind("project_id", projectId)
                                .bind("id", id)
                                .bind("name", name)
                                .bind("filter", content.filter())
                                .bind("last", content.last())
                                .bind("columns", content.columns())
                                .bind("most", MOST),
                        actor)
                .chain(() -> find(projectId, name))
                .map(found -> found.stream().findFirst().orElseThrow(SavedViews::notFound))
                .map(view -> new Defined(view, view.id().equals(id)));
    }

    /** Fails with {@code not-found}. */
    Uni<Void> delete(UUID projectId, String name, Actor actor) {
        return change(projectId, DELETE_VIEW.bind("project_id", projectId).bind("name", name), actor);
    }

    private Uni<Void> change(UUID projectId, Binds command, Actor actor) {
        command.bind("actor_token", actor.token()).bind("address", actor.address());
        return places.on(projectId, database -> changes.run(() -> command.execute(database.pool())))
                .onFailure(PgException.class)
                .transform(SavedViews::problem)
                .replaceWithVoid();
    }

    private static Throwable problem(PgException failure) {
        return switch (Optional.ofNullable(failure.getConstraint()).orElse("")) {
            case "saved_view_known" -> notFound();
            case "saved_view_limit" ->
                new ProblemException(
                        ProblemType.TOO_MANY_VIEWS,
                        "The project has " + MOST + " views, as many as it may have. Delete one that is not needed.");
            case "stream_token" ->
                new ProblemException(
                        ProblemType.UNAUTHORIZED, "The token has ended. Ask the administrator for a new one.");
            default -> failure;
        };
    }

    private static ProblemException notFound() {
        return new ProblemException(ProblemType.NOT_FOUND, "The project has no view with this name.");
    }
}
