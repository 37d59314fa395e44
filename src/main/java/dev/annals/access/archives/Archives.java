package dev.annals.access.archives;

import dev.annals.access.caller.Actor;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.HexFormat;
import java.util.UUID;

/** Which archives of projects there are. The files are elsewhere: see R__65_archive.sql. */
@ApplicationScoped
class Archives {

    private static final Sql LIST_ARCHIVES = Sql.named("access/archives/list_archives");
    private static final Sql FIND_ARCHIVE = Sql.named("access/archives/find_archive");
    private static final Sql NOTE_ARCHIVE = Sql.named("access/archives/note_archive");

    private final Pool pool;
    private final SequentialGuid guids;

    Archives(Pool pool, SequentialGuid guids) {
        this.pool = pool;
        this.guids = guids;
    }

    Uni<Listed<Archive>> list(Project project, Listed.Part part) {
        return part.read(LIST_ARCHIVES.bind("project_id", project.id()), pool, Archive::of, Archive::id);
    }

    /** Notes an archive, or leaves it noted. From then on its records may expire. */
    Uni<Archive> note(Project project, NewArchive made, Actor actor) {
        return NOTE_ARCHIVE
                .bind("project_id", project.id())
                .bind("id", guids.next())
                .bind("first_sequence_id", made.first())
                .bind("last_sequence_id", made.last())
                .bind("file_name", made.fileName())
                .bind("bytes", made.bytes())
                .bind("digest", Buffer.buffer(HexFormat.of().parseHex(made.sha256())))
                .bind("actor_token", actor.token())
                .bind("address", actor.address())
                .execute(pool)
                .onFailure(PgException.class)
                .transform(Projects::explained)
                .chain(rows -> find(project, rows.iterator().next().getUUID("id")));
    }

    private Uni<Archive> find(Project project, UUID id) {
        return DatabaseFailure.retried(FIND_ARCHIVE
                        .bind("project_id", project.id())
                        .bind("id", id)
                        .execute(pool))
                .map(rows -> {
                    if (!rows.iterator().hasNext()) {
                        throw new ProblemException(ProblemType.NOT_FOUND, "The project has no archive with this id.");
                    }
                    return Archive.of(rows.iterator().next());
                });
    }
}
