package dev.annals.derived.alert;

import dev.annals.access.caller.Actor;
import dev.annals.access.places.Places;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
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

/** Definitions of alerts. Functions of the schema change them, and append the events: see R__75_alert.sql. */
@ApplicationScoped
class Alerts {

    private static final Sql SET_ALERT = Sql.named("derived/alert/set_alert");
    private static final Sql DELETE_ALERT = Sql.named("derived/alert/delete_alert");
    private static final Sql FIND_ALERTS = Sql.named("derived/alert/find_alerts");
    private static final int CHANGES = 4;
    private static final int WAITING = 32;
    private static final Duration CHANGE_WAIT = Duration.ofSeconds(10);
    private static final int CREATION_RETRIES = 3;
    private static final int ALL = 1_000;

    private final Places places;
    private final SequentialGuid guids;
    private final AlertConfig config;
    /** A change waits for the lock on its project's feed, and holds a connection while it waits. */
    private final PerDatabase<Bulkhead> changes;

    Alerts(Places places, Databases databases, SequentialGuid guids, AlertConfig config) {
        this.places = places;
        this.changes = new PerDatabase<>(
                databases,
                database -> new Bulkhead(
                        CHANGES, WAITING, CHANGE_WAIT, "Too many alerts are changed at a time: try again."));
        this.guids = guids;
        this.config = config;
    }

    record Defined(Alert alert, boolean created) {}

    Uni<List<Alert>> list(UUID projectId) {
        return find(projectId, null, ALL);
    }

    /** Fails with {@code not-found}. */
    Uni<Alert> find(UUID projectId, String name) {
        return find(projectId, name, 1).map(found -> found.stream().findFirst().orElseThrow(Alerts::notFound));
    }

    private Uni<List<Alert>> find(UUID projectId, @Nullable String name, int most) {
        return places.on(
                projectId,
                database -> DatabaseFailure.retried(FIND_ALERTS
                        .bind("project_id", projectId)
                        .bind("name", name)
                        .bind("most", most)
                        .execute(database.pool())
                        .map(rows -> rows.stream().map(Alert::of).toList())));
    }

    /**
     * Creates or redefines an alert.
     *
     * @return fails with {@code too-many-alerts}
     */
    Uni<Defined> set(UUID projectId, String name, AlertRequest asked, Actor actor) {
        UUID id = guids.next();
        return Uni.createFrom()
                .deferred(() -> change(
                        projectId,
                        SET_ALERT
                                .bind("project_id", projectId)
                                .bind("id", id)
                                .bind("name", name)
                                .bind("q", asked.q())
                                .bind("threshold", asked.threshold())
                                .bind("interval_seconds", asked.intervalSeconds())
                                .bind("enabled", asked.enabled())
                                .bind("most", config.perProject()),
                        actor))
                .onFailure(Alerts::wasCreatedMeanwhile)
                .retry()
                .atMost(CREATION_RETRIES)
                .chain(() -> find(projectId, name))
                .map(alert -> new Defined(alert, alert.id().equals(id)));
    }

    private static boolean wasCreatedMeanwhile(Throwable failure) {
        return failure instanceof PgException error && error.getSqlState().equals("40001");
    }

    Uni<Void> delete(UUID projectId, String name, Actor actor) {
        return change(projectId, DELETE_ALERT.bind("project_id", projectId).bind("name", name), actor);
    }

    private Uni<Void> change(UUID projectId, Binds command, Actor actor) {
        command.bind("actor_token", actor.token()).bind("address", actor.address());
        return places.on(projectId, database -> changes.of(database).run(() -> command.execute(database.pool())))
                .onFailure(PgException.class)
                .transform(Alerts::problem)
                .replaceWithVoid();
    }

    private static Throwable problem(PgException failure) {
        return switch (Optional.ofNullable(failure.getConstraint()).orElse("")) {
            case "alert_known" -> notFound();
            case "alert_limit" ->
                new ProblemException(
                        ProblemType.TOO_MANY_ALERTS,
                        "The project has reached its limit of alerts. Delete one that is not needed.");
            case "stream_token" ->
                new ProblemException(
                        ProblemType.UNAUTHORIZED, "The token has ended. Ask the administrator for a new one.");
            default -> failure;
        };
    }

    private static ProblemException notFound() {
        return new ProblemException(ProblemType.NOT_FOUND, "The project has no alert with this name.");
    }
}
