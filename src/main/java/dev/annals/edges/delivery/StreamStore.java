package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.places.Places;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.query.Filter;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The streams of projects. Functions of the schema (R__70_stream.sql) make each change and append its event. */
@ApplicationScoped
class StreamStore {

    private static final Sql SET_STREAM = Sql.named("edges/delivery/set_stream");
    private static final Sql PAUSE_STREAM = Sql.named("edges/delivery/pause_stream");
    private static final Sql RESUME_STREAM = Sql.named("edges/delivery/resume_stream");
    private static final Sql REWIND_STREAM = Sql.named("edges/delivery/rewind_stream");
    private static final Sql DELETE_STREAM = Sql.named("edges/delivery/delete_stream");
    private static final Sql FIND_STREAMS = Sql.named("edges/delivery/find_streams");
    private static final Sql FIND_STREAM_FEEDS = Sql.named("edges/delivery/find_stream_feeds");
    private static final Sql LIST_DEAD_LETTERS = Sql.named("edges/delivery/list_dead_letters");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LOOK_UPS = 4;
    private static final Duration LOOK_UP_WAIT = Duration.ofSeconds(5);
    private static final int CHANGES = 4;
    private static final Duration CHANGE_WAIT = Duration.ofSeconds(10);
    private static final int WAITING = 32;
    private static final String ALL_PROJECTS = "/all_projects";
    private static final int CHANGED_MEANWHILE = 3;
    /** More than {@code ANNALS_STREAMS_PER_PROJECT} allows. */
    private static final int ALL = 1_000;

    private final Places places;
    private final SequentialGuid guids;
    private final SinkSecrets secrets;
    private final Targets targets;
    private final OwnIdentity identity;
    private final DeliveryConfig config;
    /** A slow name server occupies a thread for each look-up. */
    private final Bulkhead lookUps =
            new Bulkhead(LOOK_UPS, WAITING, LOOK_UP_WAIT, "Too many names of hosts are looked up: try again.");
    /** A change occupies a connection while it waits for the lock of the project's feed. */
    private final PerDatabase<Bulkhead> changes;

    StreamStore(
            Places places,
            Databases databases,
            SequentialGuid guids,
            SinkSecrets secrets,
            Targets targets,
            OwnIdentity identity,
            DeliveryConfig config) {
        this.places = places;
        this.changes = new PerDatabase<>(
                databases,
                database -> new Bulkhead(
                        CHANGES, WAITING, CHANGE_WAIT, "Too many streams are changed at a time: try again."));
        this.guids = guids;
        this.secrets = secrets;
        this.targets = targets;
        this.identity = identity;
        this.config = config;
    }

    /**
     * A stream after a change.
     *
     * @param created whether the stream is new
     */
    record Defined(NamedStream stream, boolean created) {}

    /** A record that a stream has skipped because the sink refused it. */
    record DeadLetter(long sequenceId, UUID recordId, String reason, OffsetDateTime refusedAt) {}

    /** A link knows only the streams that links made. */
    Uni<List<NamedStream>> list(Caller caller) {
        return find(caller.projectId(), null, ALL).map(found -> known(caller, found));
    }

    /** Fails with {@code not-found} if there is none, or none that a link may know. */
    Uni<NamedStream> find(Caller caller, String name) {
        return find(caller.projectId(), name, 1)
                .map(found -> known(caller, found).stream().findFirst().orElseThrow(StreamStore::notFound));
    }

    private static List<NamedStream> known(Caller caller, List<NamedStream> found) {
        return caller.isLink() ? found.stream().filter(NamedStream::onlyPublic).toList() : found;
    }

    Uni<NamedStream> find(UUID projectId, String name) {
        return find(projectId, name, 1).map(found -> found.stream().findFirst().orElseThrow(StreamStore::notFound));
    }

    private Uni<List<NamedStream>> find(UUID projectId, @Nullable String name, int most) {
        return places.on(
                projectId,
                database -> DatabaseFailure.retried(FIND_STREAMS
                        .bind("project_id", projectId)
                        .bind("name", name)
                        .bind("most", most)
                        .execute(database.pool())
                        .map(rows -> rows.stream().map(NamedStream::of).toList())));
    }

    /**
     * Creates a stream, or replaces its definition.
     *
     * @return fails with {@code invalid-body}, {@code no-streams-key} or {@code too-many-streams}
     */
    Uni<Defined> set(Caller caller, String name, StreamRequest asked, Actor actor) {
        UUID projectId = caller.projectId();
        return reachable(asked, caller.isLink() ? targets.onlyPublic() : targets.of(places.of(projectId)))
                .chain(() -> Uni.createFrom()
                        .deferred(() -> find(projectId, name, 1)
                                .chain(found ->
                                        set(caller, name, asked, found.stream().findFirst(), actor)))
                        .onFailure(StreamStore::isChangedMeanwhile)
                        .retry()
                        .atMost(CHANGED_MEANWHILE));
    }

    /** The stream was created or deleted since it was read. */
    private static boolean isChangedMeanwhile(Throwable failure) {
        return failure instanceof PgException error && error.getSqlState().equals("40001");
    }

    /** Refuses each forbidden host at once. Each delivery checks again, and a name that cannot be resolved now is accepted. */
    private Uni<Void> reachable(StreamRequest asked, Targets allowed) {
        return lookUps.run(() -> Multi.createFrom()
                        .iterable(asked.sinkType().hosts(asked.url()))
                        .onItem()
                        .transformToUniAndConcatenate(host -> allowed.resolve(host)
                                .onFailure(failure -> !(failure instanceof Targets.RefusedTargetException))
                                .recoverWithNull())
                        .collect()
                        .last())
                .replaceWithVoid()
                .onFailure(Targets.RefusedTargetException.class)
                .transform(refused -> invalid("/sink/url", String.valueOf(refused.getMessage())));
    }

    private Uni<Defined> set(
            Caller caller, String name, StreamRequest asked, Optional<NamedStream> there, Actor actor) {
        UUID projectId = caller.projectId();
        UUID id = there.map(NamedStream::id).orElseGet(guids::next);
        byte[] secret = secret(projectId, id, asked, there.orElse(null));
        requireIdentity(caller, asked, secret != null);
        return change(
                        projectId,
                        SET_STREAM
                                .bind("project_id", projectId)
                                .bind("id", id)
                                .bind("name", name)
                                .bind("sink_type", asked.sinkType().text())
                                .bind("url", asked.url())
                                .bind("secret", secret == null ? null : Buffer.buffer(secret))
                                .bind("format", asked.format().text())
                                .bind("filter", asked.filter())
                                .bind("on_refusal", asked.onRefusal())
                                .bind("max_refusals", asked.maxRefusals())
                                .bind("all_projects", asked.allProjects())
                                .bind("archive", asked.archive())
                                .bind("cursor", asked.cursor().toString())
                                .bind("most", config.perProject()),
                        actor)
                .chain(() -> find(projectId, name))
                .map(stream -> new Defined(stream, there.isEmpty()));
    }

    private void requireIdentity(Caller caller, StreamRequest asked, boolean hasSecret) {
        if (asked.sinkType().usesOwnIdentity(asked.url(), hasSecret)) {
            try {
                identity.require(places.of(caller.projectId()), asked.url(), asked.allProjects(), caller.isLink());
            } catch (Targets.RefusedTargetException e) {
                boolean isSecretMissing = !asked.sinkType().usesOwnIdentity(asked.url(), true);
                throw invalid(isSecretMissing ? "/sink/secret" : "/sink/url", String.valueOf(e.getMessage()));
            }
        }
    }

    /** The encrypted secret. A request may leave it out only if the sink stays the same: a secret is never sent to another URL. */
    private byte @Nullable [] secret(UUID projectId, UUID id, StreamRequest asked, @Nullable NamedStream there) {
        byte[] kept = there != null
                        && there.sinkType() == asked.sinkType()
                        && there.url().equals(asked.url())
                        && there.format().sharesSecretWith(asked.format())
                ? there.secret()
                : null;
        if (asked.secret() == null) {
            if (kept == null && asked.sinkType().needsSecret(asked.url(), there != null && there.secret() != null)) {
                throw invalid(
                        "/sink/secret",
                        "It is missing: a new sink, or one with another URL or kind of secret, needs its secret.");
            }
            return kept;
        }
        secrets.requireKey();
        return kept != null && asked.secret().equals(known(projectId, id, kept))
                ? kept
                : secrets.encrypt(projectId, id, asked.secret());
    }

    private @Nullable String known(UUID projectId, UUID id, byte[] kept) {
        try {
            return secrets.decrypt(projectId, id, kept);
        } catch (SinkSecrets.UnreadableSecretException e) {
            return null;
        }
    }

    Uni<NamedStream> pause(UUID projectId, String name, Actor actor) {
        return changed(PAUSE_STREAM, projectId, name, actor);
    }

    Uni<NamedStream> resume(UUID projectId, String name, Actor actor) {
        return changed(RESUME_STREAM, projectId, name, actor);
    }

    private Uni<NamedStream> changed(Sql command, UUID projectId, String name, Actor actor) {
        return change(projectId, command.bind("project_id", projectId).bind("name", name), actor)
                .chain(() -> find(projectId, name));
    }

    Uni<NamedStream> rewind(UUID projectId, String name, StreamRequest.Rewind to, Actor actor) {
        return find(projectId, name)
                .invoke(stream -> requirePlace(stream, to))
                .chain(() -> change(
                        projectId,
                        REWIND_STREAM
                                .bind("project_id", projectId)
                                .bind("name", name)
                                .bind("feed", to.feed())
                                .bind("cursor", to.cursor().toString()),
                        actor))
                .chain(() -> find(projectId, name));
    }

    private static void requirePlace(NamedStream stream, StreamRequest.Rewind to) {
        if (stream.allProjects() && to.feed() == null && !to.cursor().equals(Cursor.START)) {
            throw invalid(
                    "/cursor", "A stream of all projects is set to 0, or with project_id to a place in one feed.");
        }
    }

    /** In the order of the projects' ids. */
    Uni<List<NamedStream>> feeds(Caller caller, String name, @Nullable UUID after, int most) {
        return find(caller, name).chain(stream -> feeds(caller.projectId(), name, null, after, most));
    }

    private Uni<List<NamedStream>> feeds(
            UUID projectId, String name, @Nullable UUID feed, @Nullable UUID after, int most) {
        return places.on(
                projectId,
                database -> DatabaseFailure.retried(FIND_STREAM_FEEDS
                        .bind("project_id", projectId)
                        .bind("name", name)
                        .bind("feed", feed)
                        .bind("after", after)
                        .bind("most", most)
                        .execute(database.pool())
                        .map(rows -> rows.stream().map(NamedStream::of).toList())));
    }

    Uni<Void> delete(UUID projectId, String name, Actor actor) {
        return change(projectId, DELETE_STREAM.bind("project_id", projectId).bind("name", name), actor)
                .replaceWithVoid();
    }

    /**
     * In the order of a feed.
     *
     * @param feed the project of the feed
     * @return fails with {@code not-found} if the stream does not follow that feed
     */
    Uni<List<DeadLetter>> deadLetters(Caller caller, String name, UUID feed, long after, int most) {
        return feeds(caller.projectId(), name, feed, null, 1)
                .map(found -> known(caller, found).stream().findFirst().orElseThrow(StreamStore::notFollowed))
                .chain(stream -> DatabaseFailure.retried(LIST_DEAD_LETTERS
                        .bind("stream_id", stream.id())
                        .bind("project_id", feed)
                        .bind("after", after)
                        .bind("most", most)
                        .execute(places.of(caller.projectId()).pool())))
                .map(rows -> rows.stream()
                        .map(row -> new DeadLetter(
                                row.getLong("sequence_id"),
                                row.getUUID("record_id"),
                                row.getString("reason"),
                                row.getOffsetDateTime("refused_at")))
                        .toList());
    }

    Filter filter(NamedStream stream) {
        MultivaluedMap<String, String> parameters = new MultivaluedHashMap<>();
        try {
            for (Map.Entry<String, JsonNode> entry :
                    JSON.readTree(stream.filter()).properties()) {
                parameters.add(entry.getKey(), entry.getValue().asText());
            }
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("the database stores JSON", e);
        }
        return parameters.isEmpty() ? Filter.NONE : FeedQuery.readFilter(parameters);
    }

    private Uni<RowSet<Row>> change(UUID projectId, Binds command, Actor actor) {
        command.bind("actor_token", actor.token())
                .bind("address", actor.address())
                .bind("by_link", actor.isLink());
        return places.on(projectId, database -> changes.of(database).run(() -> command.execute(database.pool())))
                .onFailure(PgException.class)
                .transform(StreamStore::explained);
    }

    private static Throwable explained(PgException failure) {
        return switch (Optional.ofNullable(failure.getConstraint()).orElse("")) {
            case "stream_known" -> notFound();
            case "stream_feed_known" -> notFollowed();
            case "stream_all_projects" ->
                invalid(ALL_PROJECTS, "Only an admin can have a stream of all projects, in the project annals.");
            case "stream_all_projects_kept" ->
                invalid(
                        ALL_PROJECTS,
                        "The stream follows other feeds, and that stays: delete it, or take another name.");
            case "stream_limit" ->
                new ProblemException(
                        ProblemType.TOO_MANY_STREAMS,
                        "The project has as many streams as it may have. Delete one that is not needed.");
            case "stream_of_operator" ->
                new ProblemException(
                        ProblemType.FORBIDDEN,
                        "A stream with this name exists, and no link made it: take another name.");
            case "stream_token" ->
                new ProblemException(
                        ProblemType.UNAUTHORIZED, "The token has ended. Ask the administrator for a new one.");
            default -> failure;
        };
    }

    private static ProblemException notFound() {
        return new ProblemException(ProblemType.NOT_FOUND, "The project has no stream with this name.");
    }

    private static ProblemException notFollowed() {
        return new ProblemException(
                ProblemType.NOT_FOUND,
                "No stream with this name follows the feed of that project: GET /v1/streams/{name}/feeds lists those that it does.");
    }

    private static ProblemException invalid(String pointer, String detail) {
        return new ProblemException(Problem.of(ProblemType.INVALID_BODY, "A field is wrong; errors names it.")
                .withErrors(List.of(new FieldError(pointer, detail))));
    }
}
