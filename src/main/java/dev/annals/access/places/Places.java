package dev.annals.access.places;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.annotation.Priority;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The map from projects to databases. It is a hint: the project's row in its database decides. */
@Singleton
public class Places {

    private static final Logger LOG = Logger.getLogger(Places.class);
    private static final Sql FIND_PLACE = Sql.named("access/places/find_place");
    private static final Sql READ_PLACES = Sql.named("access/places/read_places");
    private static final int AFTER_SCHEMA = 10;
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    private static final Duration RETRY_DELAY = Duration.ofSeconds(4);
    private static final Duration START_LIMIT = Duration.ofSeconds(30);

    private final Databases databases;
    /** The projects that are not in home. */
    private final Map<UUID, Database> elsewhere = new ConcurrentHashMap<>();
    /** Changes by requests. A map that was read meanwhile may be older. */
    private final AtomicLong changes = new AtomicLong();

    private final PeriodicTask refresh =
            new PeriodicTask(() -> refresh().replaceWith(false), INTERVAL, RETRY_DELAY, LOG, "Places of projects");
    private volatile @Nullable Long known;

    Places(Databases databases) {
        this.databases = databases;
    }

    void start(@Observes @Priority(AFTER_SCHEMA) StartupEvent event) {
        try {
            refresh().await().atMost(START_LIMIT);
        } catch (RuntimeException e) {
            LOG.warnf("The places of projects were not read, and are read again: %s", e);
        }
        if (!databases.members().isEmpty()) {
            refresh.start();
        }
    }

    void stop(@Observes ShutdownEvent event) {
        refresh.stop();
    }

    /** The database where the project is, as far as this instance knows. It never waits. */
    public Database of(UUID projectId) {
        return elsewhere.getOrDefault(projectId, databases.home());
    }

    /** Asks home, after a database has answered that it does not have the project. */
    public Uni<Database> ask(UUID projectId) {
        return DatabaseFailure.retried(FIND_PLACE
                        .bind("project_id", projectId)
                        .execute(databases.home().reads()))
                .map(rows -> rows.iterator().hasNext() ? rows.iterator().next().getString("database") : null)
                .map(name -> note(projectId, name));
    }

    /**
     * Notes what a request has found in home, or changed there.
     *
     * @param name null for home; of a database that the settings do not name, nothing is noted
     */
    public Database note(UUID projectId, @Nullable String name) {
        Database known = of(projectId);
        Database found = name == null ? databases.home() : databases.named(name).orElse(known);
        if (found != known) {
            changes.incrementAndGet();
            if (name == null) {
                elsewhere.remove(projectId);
            } else {
                elsewhere.put(projectId, found);
            }
        }
        return found;
    }

    /** Reads the map from home, if it has changed. */
    Uni<Void> refresh() {
        long before = changes.get();
        return READ_PLACES
                .bind("known", known)
                .execute(databases.home().reads())
                .invoke(rows -> take(rows, before))
                .replaceWithVoid();
    }

    private void take(RowSet<Row> rows, long before) {
        if (rows.size() == 0 || changes.get() != before) {
            return;
        }
        Set<UUID> found = new HashSet<>();
        for (Row row : rows) {
            UUID project = row.getUUID("project_id");
            if (project != null) {
                found.add(project);
                elsewhere.put(project, databases.of(row.getString("database")));
            }
            known = row.getLong("version");
        }
        elsewhere.keySet().retainAll(found);
    }
}
