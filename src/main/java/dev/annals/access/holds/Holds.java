package dev.annals.access.holds;

import dev.annals.access.caller.Actor;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
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

/** Legal holds of projects. Each change is a function of the schema, which appends its event: see R__50_legal_hold.sql. */
@ApplicationScoped
class Holds {

    private static final Sql LIST_HOLDS = Sql.named("access/holds/list_holds");
    private static final Sql FIND_HOLD = Sql.named("access/holds/find_hold");
    private static final Sql SET_HOLD = Sql.named("access/holds/set_hold");
    private static final Sql LIFT_HOLD = Sql.named("access/holds/lift_hold");

    private final Pool pool;
    private final SequentialGuid guids;

    Holds(Pool pool, SequentialGuid guids) {
        this.pool = pool;
        this.guids = guids;
    }

    Uni<Listed<Hold>> list(Project project, Listed.Part part) {
        return part.read(LIST_HOLDS.bind("project_id", project.id()), pool, Hold::of, Hold::id);
    }

    /** Sets a hold. Once this is done, nothing of what it covers is redacted any more. */
    Uni<Hold> set(Project project, NewHold asked, Actor actor) {
        UUID id = guids.next();
        return run(
                        SET_HOLD.bind("project_id", project.id())
                                .bind("id", id)
                                .bind("actor_id", asked.actorId())
                                .bind("subject_id", asked.subjectId())
                                .bind("reason", asked.reason()),
                        actor)
                .chain(() -> find(project, id));
    }

    /** Lifts a hold, or leaves it lifted. */
    Uni<Hold> lift(Project project, UUID id, String reason, Actor actor) {
        return run(LIFT_HOLD.bind("project_id", project.id()).bind("id", id).bind("reason", reason), actor)
                .chain(() -> find(project, id));
    }

    private Uni<Hold> find(Project project, UUID id) {
        return DatabaseFailure.retried(FIND_HOLD
                        .bind("project_id", project.id())
                        .bind("id", id)
                        .execute(pool))
                .map(rows -> {
                    if (!rows.iterator().hasNext()) {
                        throw new ProblemException(ProblemType.NOT_FOUND, "The project has no hold with this id.");
                    }
                    return Hold.of(rows.iterator().next());
                });
    }

    private Uni<RowSet<Row>> run(Binds command, Actor actor) {
        return command.bind("actor_token", actor.token())
                .bind("address", actor.address())
                .execute(pool)
                .onFailure(PgException.class)
                .transform(Projects::explained);
    }
}
