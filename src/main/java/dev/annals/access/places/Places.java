package dev.annals.access.places;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
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
import java.util.function.Function;
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
    /** A move holds a project back for tens of milliseconds, unless its mover has died. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(5);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(100);

    private final Databases databases;
    /** The projects that are not in home. */
    private final Map<UUID, Database> elsewhere = new ConcurrentHashMap<>();
    /** Changes by requests. A map that was read meanwhile may be older. */
    private final AtomicLong changes = new AtomicLong();
    /** All requests that wait for a project share a question. */
    private final Map<UUID, Uni<@Nullable Database>> questions = new ConcurrentHashMap<>();

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

    /**
     * Runs work in the project's database. If that database does not have the project any more, or not yet, runs it again where the project
     * is: see {@link Search}.
     *
     * @param work fails with what {@link ElsewhereException#isOf} knows, and has then changed nothing
     */
    public <T> Uni<T> on(UUID projectId, Function<Database, Uni<T>> work) {
        return Uni.createFrom().deferred(() -> {
            Database known = of(projectId);
            return work.apply(known)
                    .onFailure(ElsewhereException::isOf)
                    .recoverWithUni(refusal -> again(new Search(projectId), known, refusal, work));
        });
    }

    private static <T> Uni<T> again(
            Search search, Database refused, Throwable refusal, Function<Database, Uni<T>> work) {
        return search.after(refused, refusal)
                .chain(next -> work.apply(next)
                        .onFailure(ElsewhereException::isOf)
                        .recoverWithUni(other -> again(search, next, other, work)));
    }

    public Search search(UUID projectId) {
        return new Search(projectId);
    }

    /** A search for the database of a project that another one has refused. Home knows; while the project moves, the search waits. */
    public final class Search {

        private final UUID projectId;
        private final long end = System.nanoTime() + PATIENCE.toNanos();
        private int tries;

        private Search(UUID projectId) {
            this.projectId = projectId;
        }

        /**
         * The database to try next.
         *
         * @return fails with the refusal if the settings do not name the database; after {@link #PATIENCE} with {@link
         *     ElsewhereException#whileMoving}; with {@code unavailable} if home does not answer
         */
        public Uni<Database> after(Database refused, Throwable refusal) {
            return Uni.createFrom().deferred(() -> next(refused, refusal));
        }

        private Uni<Database> next(Database refused, Throwable refusal) {
            ElsewhereException why = ElsewhereException.of(refusal).orElseThrow();
            if (databases.members().isEmpty()) {
                return Uni.createFrom().failure(why);
            }
            if (System.nanoTime() - end >= 0) {
                String database = why.database();
                boolean isUsed = database != null && databases.named(database).isPresent();
                return Uni.createFrom().failure(isUsed ? why.whileMoving() : why);
            }
            boolean first = tries == 0;
            return question(projectId, tries++).chain(place -> {
                if (place == null) {
                    return Uni.createFrom().failure(why);
                }
                return first && place == refused
                        ? next(refused, why)
                        : Uni.createFrom().item(place);
            });
        }
    }

    /** Asks home after a database has answered that it does not have the project, so that {@link #of} knows better a little later. */
    public void askAgain(UUID projectId) {
        if (!databases.members().isEmpty()) {
            question(projectId, 0).subscribe().with(found -> {}, failure -> {});
        }
    }

    private Uni<@Nullable Database> question(UUID projectId, int tries) {
        Uni<@Nullable Database> shared = questions.computeIfAbsent(
                projectId,
                id -> pause(tries)
                        .chain(() -> ask(id))
                        .onTermination()
                        .invoke(() -> questions.remove(id))
                        .memoize()
                        .indefinitely());
        Context context = Vertx.currentContext();
        return context == null ? shared : shared.emitOn(command -> context.runOnContext(now -> command.run()));
    }

    private static Uni<Void> pause(int tries) {
        Uni<Void> pause = Uni.createFrom().voidItem();
        return tries == 0
                ? pause
                : pause.onItem().delayIt().by(DatabaseFailure.backOff(FIRST_PAUSE, LONGEST_PAUSE, tries - 1));
    }

    /** Null if the settings do not name the database. */
    private Uni<@Nullable Database> ask(UUID projectId) {
        return DatabaseFailure.retried(FIND_PLACE
                        .bind("project_id", projectId)
                        .execute(databases.home().polls()))
                .onFailure(DatabaseFailure::isOutage)
                .transform(
                        away -> new ProblemException(
                                ProblemType.UNAVAILABLE,
                                "The project is in another database, and the database that knows which one cannot be reached: try again."))
                .map(rows -> rows.iterator().hasNext() ? rows.iterator().next().getString("database") : null)
                .map(name -> {
                    Database found = note(projectId, name);
                    return name == null || found.name().equals(name) ? found : null;
                });
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
                .execute(databases.home().polls())
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
