package dev.annals.core.sequence;

import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlClient;

/** A sequence's row in the database, from which values are reserved by one UPDATE. */
final class SequenceRow implements ValueSource {

    private static final Sql RESERVE_VALUES = Sql.named("core/sequence/reserve_values");
    private static final Sql HAS_SEQUENCE = Sql.named("core/sequence/has_sequence");

    private final Pool pool;
    private final Sequence sequence;

    SequenceRow(Pool pool, Sequence sequence) {
        this.pool = pool;
        this.sequence = sequence;
    }

    Sequence sequence() {
        return sequence;
    }

    @Override
    public Uni<Range> reserve(long wanted) {
        return reserve(pool, wanted, 1);
    }

    /** Reserves exactly {@code count} values, in the client's transaction if it has one. */
    Uni<Range> reserveAll(SqlClient client, long count) {
        return reserve(client, count, count);
    }

    /** In a transaction of its own. */
    Uni<Range> reserveAll(long count) {
        return reserve(pool, count, count);
    }

    private Uni<Range> reserve(SqlClient client, long wanted, long minimum) {
        return RESERVE_VALUES
                .bind("id", sequence.id())
                .bind("wanted", wanted)
                .bind("minimum", minimum)
                .execute(client)
                .chain(rows -> {
                    for (Row row : rows) {
                        return Uni.createFrom().item(Range.of(row));
                    }
                    return whyNone(client);
                });
    }

    <T> Uni<T> whyNone(SqlClient client) {
        return isThere(client).chain(there -> Uni.createFrom().failure(there ? exhausted() : deleted()));
    }

    /** A project that moves has left its table of PostgreSQL's under another name. */
    <T> Uni<T> whyNoTable(SqlClient client) {
        return isThere(client)
                .chain(there -> Uni.createFrom()
                        .failure(there ? new ElsewhereException(sequence.projectId(), "sealed", null) : deleted()));
    }

    private Uni<Boolean> isThere(SqlClient client) {
        return HAS_SEQUENCE
                .bind("id", sequence.id())
                .execute(client)
                .map(rows -> rows.iterator().next().getBoolean("is_there"));
    }

    ProblemException exhausted() {
        return new ProblemException(
                ProblemType.SEQUENCE_EXHAUSTED,
                "The sequence " + sequence.name() + " has fewer values left than were asked for; it never starts again."
                        + " Define another one.");
    }

    ProblemException deleted() {
        return deleted(sequence.name());
    }

    static ProblemException deleted(String name) {
        return new ProblemException(
                ProblemType.SEQUENCE_DELETED,
                "The sequence " + name + " was deleted. Its name stays taken, since its values were issued: define one"
                        + " of another name.");
    }
}
