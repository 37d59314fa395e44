package dev.annals.edges.export;

import dev.annals.core.feed.Cursor;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;

/** The exports in progress, and what an export has to know before it begins. */
@ApplicationScoped
class Exports {

    private static final Sql EXPORT_BOUNDS = Sql.named("edges/export/export_bounds");
    private static final Duration RETRY_AFTER = Duration.ofSeconds(10);

    private final Pool pool;
    private final ExportConfig config;
    private final Map<UUID, Integer> running = new HashMap<>();
    private int runningInAll;

    Exports(@Reads Pool pool, ExportConfig config) {
        this.pool = pool;
        this.config = config;
    }

    /**
     * The project that is exported, and up to where.
     *
     * @param head the feed's last record as the export began: the export ends there
     */
    record Bounds(String projectName, Cursor head) {}

    /** Reads the name and the head of a project. */
    Uni<Bounds> bounds(UUID projectId) {
        return DatabaseFailure.retried(EXPORT_BOUNDS
                .bind("project_id", projectId)
                .execute(pool)
                .map(rows -> bounds(projectId, rows.iterator().next())));
    }

    private static Bounds bounds(UUID projectId, Row row) {
        Long head = row.getLong("last_sequence_id");
        return new Bounds(
                row.getString("name"),
                head == null
                        ? Cursor.START
                        : Cursor.behind(projectId, head, row.getUUID("record_id"), row.getInteger("mark")));
    }

    /**
     * Takes a place among the exports that may run at a time.
     *
     * @return gives the place back; further calls do nothing
     * @throws ProblemException {@code unavailable} if all are taken
     */
    synchronized Runnable take(UUID projectId) {
        int ofProject = running.getOrDefault(projectId, 0);
        if (ofProject >= config.concurrentPerProject()) {
            throw full("of this project", config.concurrentPerProject());
        }
        if (runningInAll >= config.concurrent()) {
            throw full("of all projects", config.concurrent());
        }
        running.put(projectId, ofProject + 1);
        runningInAll++;
        AtomicBoolean given = new AtomicBoolean();
        return () -> {
            if (!given.getAndSet(true)) {
                release(projectId);
            }
        };
    }

    private synchronized void release(UUID projectId) {
        runningInAll--;
        running.computeIfPresent(projectId, (id, count) -> count == 1 ? null : count - 1);
    }

    private static ProblemException full(String whose, int limit) {
        return new ProblemException(Problem.of(
                        ProblemType.UNAVAILABLE,
                        "There may be " + limit + " exports " + whose
                                + " at a time, and as many are running: try again when one has ended.")
                .withRetryAfter(RETRY_AFTER));
    }
}
