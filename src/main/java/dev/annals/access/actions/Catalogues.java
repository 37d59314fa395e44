package dev.annals.access.actions;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.access.tokens.LookUpBounds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Catalogues of projects, in home. A function of the schema makes each change and appends its events: see R__77_catalogue.sql.
 *
 * <p>The look-up of a token tells the version of its project's catalogue, so projects without one cost no query, and a change counts at
 * each instance after the time for which tokens are cached.
 */
@ApplicationScoped
public class Catalogues {

    private static final Sql READ_CATALOGUE = Sql.named("access/actions/read_catalogue");
    private static final Sql SET_CATALOGUE = Sql.named("access/actions/set_catalogue");
    private static final Sql DELETE_ACTION = Sql.named("access/actions/delete_action");
    private static final int MAX_CACHED_BYTES = 16 * 1024 * 1024;
    /** A few milliseconds, or one record. */
    private static final long STEPS_PER_TURN = 5_000;

    static final int SHARE = Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
    private static final int WAITING_TURNS = 1_024;
    private static final Duration TURN_WAIT = Duration.ofSeconds(30);
    private static final String BUSY = "Too many records of this project are compared with schemas: try again.";

    private final Pool pool;
    private final Pool reads;
    private final AccessTokens tokens;
    private final Vertx vertx;
    private final Cache<UUID, Catalogue> known = Caffeine.newBuilder()
            .maximumWeight(MAX_CACHED_BYTES)
            .<UUID, Catalogue>weigher((project, catalogue) -> 1_024 + catalogue.bytes())
            .build();
    /** Those of projects that compare records at the moment. */
    private final Cache<UUID, Bulkhead> turns =
            Caffeine.newBuilder().weakValues().build();
    /** Requests of a project share one query. */
    private final Map<UUID, Uni<Catalogue>> lookUps = new ConcurrentHashMap<>();

    Catalogues(Databases databases, AccessTokens tokens, Vertx vertx) {
        this.pool = databases.home().pool();
        this.reads = databases.home().reads();
        this.tokens = tokens;
        this.vertx = vertx;
    }

    /** The catalogue of the caller's project, from memory unless it has changed. */
    public Uni<Catalogue> of(Caller caller) {
        if (caller.catalogueVersion() == 0) {
            return Uni.createFrom().item(Catalogue.NONE);
        }
        Catalogue cached = known.getIfPresent(caller.projectId());
        return cached != null && cached.version() >= caller.catalogueVersion()
                ? Uni.createFrom().item(cached)
                : lookUps.computeIfAbsent(caller.projectId(), this::lookUp);
    }

    private Uni<Catalogue> lookUp(UUID projectId) {
        return DatabaseFailure.retriedFor(LookUpBounds.WAIT, find(projectId, reads))
                .invoke(found -> known.put(projectId, found))
                .onTermination()
                .invoke(() -> lookUps.remove(projectId))
                .memoize()
                .indefinitely();
    }

    private static Uni<Catalogue> find(UUID projectId, Pool pool) {
        return READ_CATALOGUE.bind("project_id", projectId).execute(pool).map(Catalogue::of);
    }

    /**
     * Compares records by workers, a few at a time, so that many of them do not delay other requests. One project uses at most half of
     * the processors.
     *
     * @param one compares the record at an index, and returns its {@link Catalogue#steps}
     */
    public Uni<Void> inTurns(UUID projectId, int records, IntToLongFunction one) {
        return inTurns(
                turns.get(projectId, id -> new Bulkhead(SHARE, WAITING_TURNS, TURN_WAIT, BUSY)), 0, records, one);
    }

    private Uni<Void> inTurns(Bulkhead turns, int from, int records, IntToLongFunction one) {
        return from == records
                ? Uni.createFrom().voidItem()
                : turns.run(() -> Uni.createFrom()
                                .completionStage(() -> vertx.executeBlocking(() -> turn(from, records, one), false)
                                        .toCompletionStage()))
                        .chain(next -> inTurns(turns, next, records, one));
    }

    /** Returns the index of the next record. */
    private static int turn(int from, int records, IntToLongFunction one) {
        int at = from;
        for (long left = STEPS_PER_TURN; at < records && left > 0; at++) {
            left -= one.applyAsLong(at);
        }
        return at;
    }

    /** As it is in the database now. */
    public Uni<Catalogue> now(UUID projectId) {
        return DatabaseFailure.retried(find(projectId, reads));
    }

    /** Sets policies and actions, and with {@code whole} deletes the other actions. */
    Uni<Catalogue> set(Project project, CatalogueRequest asked, boolean whole, Actor actor) {
        return change(
                        Projects.run(
                                SET_CATALOGUE
                                        .bind("project_id", project.id())
                                        .bind("unknown_actions", asked.unknownActions())
                                        .bind("ill_formed_metadata", asked.illFormedMetadata())
                                        .bind("actions", asked.actions())
                                        .bind("whole", whole)
                                        .bind("most", CatalogueRequest.MAX_ACTIONS)
                                        .bind("most_bytes", CatalogueRequest.MAX_SCHEMA_BYTES),
                                actor,
                                pool),
                        project)
                .chain(() -> find(project.id(), pool));
    }

    Uni<Void> delete(Project project, String name, Actor actor) {
        return change(
                Projects.run(DELETE_ACTION.bind("project_id", project.id()).bind("name", name), actor, pool), project);
    }

    private Uni<Void> change(Uni<?> change, Project project) {
        return change.invoke(() -> {
                    known.invalidate(project.id());
                    tokens.changed();
                })
                .onFailure(PgException.class)
                .transform(Catalogues::explained)
                .replaceWithVoid();
    }

    private static Throwable explained(Throwable failure) {
        String constraint = ((PgException) failure).getConstraint();
        if ("catalogue_action_known".equals(constraint)) {
            return unknown();
        }
        return "catalogue_limit".equals(constraint)
                ? new ProblemException(
                        ProblemType.TOO_MANY_ACTIONS,
                        "A catalogue may have " + CatalogueRequest.MAX_ACTIONS + " actions, and their schemas "
                                + CatalogueRequest.MAX_SCHEMA_BYTES
                                + " bytes together. Delete actions, or shorten schemas.")
                : failure;
    }

    static ProblemException unknown() {
        return new ProblemException(ProblemType.NOT_FOUND, "The catalogue has no action with this name.");
    }

    static Catalogue.Action require(Catalogue catalogue, String name) {
        Catalogue.@Nullable Action action = catalogue.actions().get(name);
        if (action == null) {
            throw unknown();
        }
        return action;
    }
}
