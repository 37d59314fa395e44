package dev.annals.access.look;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.caller.Actor;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Bulkhead;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

/** The looks of projects. {@code annals.set_look} makes each change and appends its event. */
@ApplicationScoped
public class Looks {

    private static final Sql FIND_LOOK = Sql.named("access/look/find_look");
    private static final Sql SET_LOOK = Sql.named("access/look/set_look");
    private static final int KNOWN = 10_000;
    private static final Duration STALE = Duration.ofSeconds(10);
    private static final int LOOK_UPS = 2;
    private static final int WAITING = 64;
    private static final Duration WAIT = Duration.ofSeconds(2);

    private final Pool pool;
    private final Pool reads;
    private final Cache<UUID, List<String>> embedders =
            Caffeine.newBuilder().maximumSize(KNOWN).expireAfterWrite(STALE).build();
    /** The page is served without a token. */
    private final Bulkhead lookUps =
            new Bulkhead(LOOK_UPS, WAITING, WAIT, "Too many pages are opened at a time: try again.");

    Looks(Databases databases) {
        this.pool = databases.home().pool();
        this.reads = databases.home().reads();
    }

    /** {@link Look#NONE} for a project without a look, and an unknown one. */
    Uni<Look> find(UUID projectId) {
        return DatabaseFailure.retried(FIND_LOOK
                .bind("project_id", projectId)
                .execute(reads)
                .map(rows -> rows.iterator().hasNext() ? Look.of(rows.iterator().next()) : Look.NONE));
    }

    Uni<Look> set(Project project, Look look, Actor actor) {
        return Projects.run(
                        SET_LOOK.bind("project_id", project.id())
                                .bind("name", look.name())
                                .bind("colour", look.colour())
                                .bind("logo", look.logo() == null ? null : Buffer.buffer(look.logo()))
                                .bind("embedders", look.embedders().toArray(String[]::new)),
                        actor,
                        pool)
                .invoke(() -> embedders.invalidate(project.id()))
                .replaceWith(look);
    }

    /** The origins that may show the project's links in a frame. None if the database does not answer. A change counts within 10 s. */
    public Uni<List<String>> embedders(UUID projectId) {
        List<String> known = embedders.getIfPresent(projectId);
        return known != null
                ? Uni.createFrom().item(known)
                : lookUps.run(() -> find(projectId).map(Look::embedders))
                        .invoke(found -> embedders.put(projectId, found))
                        .onFailure()
                        .recoverWithItem(List.of());
    }
}
