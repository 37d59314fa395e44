package dev.annals.core.sequence;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.caller.Actor;
import dev.annals.access.places.Places;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.time.Duration;
import java.time.InstantSource;
import java.util.UUID;

/** The sequences of all projects, and this process's generators for them: one per sequence, shared by all callers. */
@ApplicationScoped
public class Sequences {

    private static final Sql DEFINE_SEQUENCE = Sql.named("core/sequence/define_sequence");
    private static final Sql FIND_SEQUENCE = Sql.named("core/sequence/find_sequence");
    private static final Sql DELETE_SEQUENCE = Sql.named("core/sequence/delete_sequence");

    /** A generator that is dropped loses the rest of its batch, so this is more than a busy process uses. Each takes about a KiB. */
    private static final int MAX_GENERATORS = 10_000;

    private final Places places;
    private final PerDatabase<SeriesSession> sessions;
    private final SequentialGuid guids;
    private final Cache<Drawn, SequenceGenerator> generators;
    /** A name never changes its sequence, so an outdated entry is one that was deleted. */
    private final Cache<Name, Sequence> known;

    @Inject
    Sequences(Places places, Databases databases, SequentialGuid guids) {
        this(places, new PerDatabase<>(databases, database -> new SeriesSession(database::connect)), guids);
    }

    /**
     * The sequences as one process sees them.
     *
     * @param sessions own the series
     */
    Sequences(Places places, PerDatabase<SeriesSession> sessions, SequentialGuid guids) {
        this.places = places;
        this.sessions = sessions;
        this.guids = guids;
        this.generators = Caffeine.newBuilder().maximumSize(MAX_GENERATORS).build();
        this.known = Caffeine.newBuilder()
                .maximumSize(MAX_GENERATORS)
                .expireAfterWrite(Duration.ofSeconds(30))
                .build();
    }

    private record Name(UUID projectId, String name) {}

    private record Drawn(UUID sequenceId, Database from) {}

    public record Defined(Sequence sequence, boolean created) {}

    /** For a tool that is no caller of the service. */
    public Uni<Defined> define(UUID projectId, String name, Sequence.Definition definition) {
        return define(projectId, name, definition, Actor.SERVICE);
    }

    /**
     * Defines a sequence, or returns the one with this name and the same definition.
     *
     * @param name 1 to 128 letters, digits, dots, hyphens and underscores
     * @return fails with {@code sequence-exists}, {@code sequence-deleted} or {@code too-many-sequences}
     */
    public Uni<Defined> define(UUID projectId, String name, Sequence.Definition definition, Actor actor) {
        Sequence wanted = new Sequence(guids.next(), projectId, name, definition);
        return places.on(
                        projectId,
                        database -> DEFINE_SEQUENCE
                                .bind("id", wanted.id())
                                .bind("project_id", projectId)
                                .bind("name", name)
                                .bind("kind", definition.kind().name())
                                .bind("start", definition.start())
                                .bind("max_value", definition.maxValue())
                                .bind("batch_size", definition.batchSize())
                                .bind("low_water_mark", definition.lowWaterMark())
                                .bind("next_value", definition.firstNextValue())
                                .bind("actor_token", actor.token())
                                .bind("address", actor.address())
                                .execute(database.pool()))
                .onFailure(Sequences::isLimit)
                .transform(failure -> new ProblemException(
                        ProblemType.TOO_MANY_SEQUENCES,
                        "The project has as many sequences as it may have, including deleted ones."))
                .chain(rows -> rows.iterator().hasNext()
                        ? Uni.createFrom().item(new Defined(wanted, true))
                        : find(projectId, name).map(there -> new Defined(requireSame(there, definition), false)));
    }

    private static boolean isLimit(Throwable failure) {
        return failure instanceof PgException error && "sequence_limit".equals(error.getConstraint());
    }

    private static Sequence requireSame(Sequence there, Sequence.Definition definition) {
        if (!there.definition().equals(definition)) {
            throw new ProblemException(
                    ProblemType.SEQUENCE_EXISTS,
                    "There is a sequence " + there.name() + " of kind "
                            + there.definition().kind()
                            + " with another definition. Choose another name, or send the definition that GET shows.");
        }
        return there;
    }

    /** Fails with {@code not-found} or {@code sequence-deleted}. */
    public Uni<Sequence> find(UUID projectId, String name) {
        return places.on(
                        projectId,
                        database -> FIND_SEQUENCE
                                .bind("project_id", projectId)
                                .bind("name", name)
                                .execute(database.pool()))
                .map(rows -> read(rows, name));
    }

    private static Sequence read(RowSet<Row> rows, String name) {
        for (Row row : rows) {
            if (row.getBoolean("deleted")) {
                throw SequenceRow.deleted(name);
            }
            Sequence.Definition definition = new Sequence.Definition(
                    SequenceKind.valueOf(row.getString("kind")),
                    row.getLong("start"),
                    row.getLong("max_value"),
                    row.getInteger("batch_size"),
                    row.getInteger("low_water_mark"));
            return new Sequence(row.getUUID("id"), row.getUUID("project_id"), name, definition);
        }
        throw new ProblemException(
                ProblemType.NOT_FOUND,
                "The project has no sequence " + name + ". Define it: PUT /v1/sequences/" + name);
    }

    /** The name stays taken. Fails like {@link #find}. */
    public Uni<Void> delete(UUID projectId, String name, Actor actor) {
        return find(projectId, name)
                .chain(sequence -> places.on(
                                projectId,
                                database -> DELETE_SEQUENCE
                                        .bind("id", sequence.id())
                                        .bind("actor_token", actor.token())
                                        .bind("address", actor.address())
                                        .execute(database.pool()))
                        .invoke(() -> {
                            known.invalidate(new Name(projectId, name));
                            generators.invalidate(new Drawn(sequence.id(), places.of(projectId)));
                        }))
                .replaceWithVoid();
    }

    /** Fails like {@link #find} and {@link SequenceGenerator}. */
    public Uni<SequenceBlock> draw(UUID projectId, String name, int count) {
        Name key = new Name(projectId, name);
        Sequence sequence = known.getIfPresent(key);
        if (sequence != null) {
            return next(sequence, count);
        }
        return find(projectId, name).invoke(found -> known.put(key, found)).chain(found -> next(found, count));
    }

    private Uni<SequenceBlock> next(Sequence sequence, int count) {
        return places.on(
                sequence.projectId(), database -> generator(sequence, database).next(count));
    }

    /** The generator of a sequence of kind {@code SYNCHRONOUS} draws in transactions of its own. */
    public SequenceGenerator generator(Sequence sequence) {
        return generator(sequence, places.of(sequence.projectId()));
    }

    private SequenceGenerator generator(Sequence sequence, Database database) {
        return generators.get(new Drawn(sequence.id(), database), drawn -> newGenerator(sequence, drawn.from()));
    }

    /** Draws in the caller's transactions. */
    public SynchronousSequence synchronous(Sequence sequence) {
        if (sequence.definition().kind() != SequenceKind.SYNCHRONOUS) {
            throw new IllegalArgumentException(sequence.name() + " is of kind "
                    + sequence.definition().kind() + "; only SYNCHRONOUS draws in the caller's transaction");
        }
        return new SynchronousSequence(
                new SequenceRow(places.of(sequence.projectId()).pool(), sequence));
    }

    private SequenceGenerator newGenerator(Sequence sequence, Database database) {
        Sequence.Definition definition = sequence.definition();
        SequenceRow row = new SequenceRow(database.pool(), sequence);
        return switch (definition.kind()) {
            // Never retried: if it is unknown whether an UPDATE was committed, that could leave a gap.
            case SYNCHRONOUS ->
                count -> row.reserveAll(SequenceGenerator.requireCount(count))
                        .map(range -> SequenceBlock.adjacent(range.first(), count));
            case ASYNCHRONOUS -> new AsynchronousSequence(row);
            case BATCH -> new BatchSequence(row, sequence.name(), definition.batchSize(), 0);
            case ASYNC_BATCH ->
                new BatchSequence(row, sequence.name(), definition.batchSize(), definition.lowWaterMark());
            case PSEUDO_RANDOM ->
                new PseudoRandomSequence(new AsynchronousSequence(row), Math.toIntExact(definition.start()));
            case COMPOSITE -> new CompositeSequence(row, InstantSource.system());
            case RECYCLED_SERIES ->
                new BatchSequence(new RecycledSeries(row, sessions.of(database)), sequence.name(), 1, 0);
            case NATIVE -> new NativeSequence(database.pool(), row);
            case BIT_REVERSED -> {
                NativeSequence values = new NativeSequence(database.pool(), row);
                yield count -> values.next(count).map(block -> block.map(value -> Long.reverse(value) >>> 1));
            }
            case COMMIT_ORDERED, MAX_PLUS_ONE ->
                throw new IllegalArgumentException(definition.kind() + " numbers the rows of a table");
        };
    }

    /** Releases the series of this process. */
    Uni<Void> close() {
        return Multi.createFrom()
                .iterable(sessions.all())
                .onItem()
                .transformToUniAndMerge(session -> session.close().replaceWith(true))
                .collect()
                .last()
                .replaceWithVoid();
    }

    void stop(@Observes ShutdownEvent event) {
        close().subscribe().with(done -> {}, failure -> {});
    }
}
