package dev.annals.core.sequence;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import org.jspecify.annotations.Nullable;

/**
 * The source of {@link SequenceKind#RECYCLED_SERIES}: the series that this process owns. Every value is taken by an UPDATE
 * in the session that holds the lock of the series, so a process that has lost its lock cannot issue any more.
 */
final class RecycledSeries implements ValueSource {

    private static final Sql CLAIM_SERIES = Sql.named("core/sequence/claim_series");
    private static final Sql DRAW_SERIES = Sql.named("core/sequence/draw_series");
    private static final Sql FINISH_SERIES = Sql.named("core/sequence/finish_series");

    private final SequenceRow row;
    private final SeriesSession session;
    private volatile @Nullable Owned owned;

    RecycledSeries(SequenceRow row, SeriesSession session) {
        this.row = row;
        this.session = session;
    }

    private record Owned(SqlConnection connection, long firstValue) {

        Binds bind(Sql statement, SequenceRow row) {
            return statement.bind("sequence_id", row.sequence().id()).bind("first_value", firstValue);
        }
    }

    @Override
    public Uni<Range> reserve(long wanted) {
        return session.connection().chain(this::ownedSeries).chain(series -> draw(series, wanted));
    }

    private Uni<Owned> ownedSeries(SqlConnection connection) {
        Owned series = owned;
        if (series != null && series.connection().equals(connection)) {
            return Uni.createFrom().item(series);
        }
        return CLAIM_SERIES
                .bind("sequence_id", row.sequence().id())
                .execute(connection)
                .chain(rows -> claimed(connection, rows));
    }

    private Uni<Owned> claimed(SqlConnection connection, RowSet<Row> rows) {
        Long first = rows.iterator().next().getLong("first_value");
        if (first == null) {
            return row.whyNone(connection);
        }
        Owned series = new Owned(connection, first);
        owned = series;
        return Uni.createFrom().item(series);
    }

    private Uni<Range> draw(Owned series, long wanted) {
        return series.bind(DRAW_SERIES, row)
                .bind("wanted", wanted)
                .execute(series.connection())
                .chain(rows -> {
                    for (Row drawn : rows) {
                        return Uni.createFrom().item(Range.of(drawn));
                    }
                    return finish(series).chain(() -> reserve(wanted));
                });
    }

    private Uni<Void> finish(Owned series) {
        owned = null;
        return series.bind(FINISH_SERIES, row).execute(series.connection()).replaceWithVoid();
    }
}
