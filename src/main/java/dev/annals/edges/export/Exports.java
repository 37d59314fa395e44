package dev.annals.edges.export;

import dev.annals.access.places.Places;
import dev.annals.core.feed.Cursor;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;

/** Limits the exports in progress, and reads the bounds of a new one. */
@ApplicationScoped
class Exports {

    private static final Sql EXPORT_BOUNDS = Sql.named("edges/export/export_bounds");
    private static final Duration RETRY_AFTER = Duration.ofSeconds(10);

    private final Places places;
    private final ExportConfig config;
    private final Map<UUID, Integer> running = new HashMap<>();
    private int runningInAll;

    Exports(Places places, ExportConfig config) {
        this.places = places;
        this.config = config;
    }

    /**
     * The bounds of an export.
     *
     * @param head the feed's last record when the export began, at which the export ends
     */
    record Bounds(String projectName, Cursor head) {}

    Uni<Bounds> bounds(UUID projectId) {
        return places.on(
                projectId,
                database -> DatabaseFailure.retried(EXPORT_BOUNDS
                        .bind("project_id", projectId)
                        .execute(database.reads())
                        .map(rows -> bounds(projectId, rows.iterator().next()))));
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
     * Begins an export within the limits.
     *
     * @return ends it; further calls do nothing
     * @throws ProblemException {@code unavailable} if as many are running as may
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
                        "As many exports " + whose + " are running as may run at a time, " + limit
                                + ": try again when one has ended.")
                .withRetryAfter(RETRY_AFTER));
    }
}
