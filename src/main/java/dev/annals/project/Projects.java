package dev.annals.project;

import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.Optional;
import java.util.UUID;

/** The projects, each of which owns a feed. */
@ApplicationScoped
public class Projects {

    private static final String ADD_PROJECT = Sql.named("add_project");
    private static final String HAS_PROJECTS = Sql.named("has_projects");

    private final Pool pool;
    private final SequentialGuid guids;

    Projects(Pool pool, SequentialGuid guids) {
        this.pool = pool;
        this.guids = guids;
    }

    /** Adds a project; empty where its name is taken. */
    Uni<Optional<UUID>> add(String name) {
        return pool.preparedQuery(ADD_PROJECT)
                .execute(Tuple.of(guids.next(), name))
                .map(rows -> rows.iterator().hasNext()
                        ? Optional.of(rows.iterator().next().getUUID(0))
                        : Optional.empty());
    }

    /** Whether there is any project yet. */
    Uni<Boolean> any() {
        return pool.preparedQuery(HAS_PROJECTS)
                .execute()
                .map(rows -> rows.iterator().next().getBoolean(0));
    }
}
