package dev.annals.project;

import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.Optional;
import java.util.UUID;

/** The projects, each of which owns a feed. */
@ApplicationScoped
public class Projects {

    private static final Sql ADD_PROJECT = Sql.named("add_project");
    private static final Sql HAS_PROJECTS = Sql.named("has_projects");

    private final Pool pool;
    private final SequentialGuid guids;

    Projects(Pool pool, SequentialGuid guids) {
        this.pool = pool;
        this.guids = guids;
    }

    /** Adds a project; empty if its name is taken. */
    Uni<Optional<UUID>> add(String name) {
        return ADD_PROJECT
                .bind("id", guids.next())
                .bind("name", name)
                .execute(pool)
                .map(rows -> rows.iterator().hasNext()
                        ? Optional.of(rows.iterator().next().getUUID("id"))
                        : Optional.empty());
    }

    /** Whether there are any projects yet. */
    Uni<Boolean> any() {
        return HAS_PROJECTS.execute(pool).map(rows -> rows.iterator().next().getBoolean("any_project"));
    }
}
