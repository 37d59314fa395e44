package dev.annals.sequence;

import dev.annals.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import org.jspecify.annotations.Nullable;

/**
 * Where {@link SequenceKind#RECYCLED_SERIES} gets its values: the series that this process owns. Every value is taken by
 * an UPDATE in the session that holds the series' lock, so a process that lost its lock cannot issue one more.
 */
final class RecycledSeries implements ValueSource {

    private static final String CLAIM_SERIES = Sql.named("claim_series");
    private static final String DRAW_SERIES = Sql.named("draw_series");
    private static final String FINISH_SERIES = Sql.named("finish_series");

    private final SequenceRow row;
    private final SeriesSession session;
    private volatile @Nullable Owned owned;

    RecycledSeries(SequenceRow row, SeriesSession session) {
        this.row = row;
        this.session = session;
    }

    /** A series, and the connection whose session owns it. */
    private record Owned(SqlConnection connection, long firstValue) {}

    @Override
    public Uni<Range> reserve(long wanted) {
        return session.connection().chain(this::ownedSeries).chain(series -> draw(series, wanted));
    }

    private Uni<Owned> ownedSeries(SqlConnection connection) {
        Owned series = owned;
        if (series != null && series.connection().equals(connection)) {
            return Uni.createFrom().item(series);
        }
        return connection
                .preparedQuery(CLAIM_SERIES)
                .execute(Tuple.of(row.sequence().id()))
                .chain(rows -> claimed(connection, rows));
    }

    private Uni<Owned> claimed(SqlConnection connection, RowSet<Row> rows) {
        Long first = rows.iterator().next().getLong(0);
        if (first == null) {
            return row.whyNone(connection);
        }
        Owned series = new Owned(connection, first);
        owned = series;
        return Uni.createFrom().item(series);
    }

    private Uni<Range> draw(Owned series, long wanted) {
        return series.connection()
                .preparedQuery(DRAW_SERIES)
                .execute(Tuple.of(row.sequence().id(), series.firstValue(), wanted))
                .chain(rows -> {
                    for (Row drawn : rows) {
                        return Uni.createFrom().item(new Range(drawn.getLong(0), drawn.getLong(1)));
                    }
                    return finish(series).chain(() -> reserve(wanted));
                });
    }

    private Uni<Void> finish(Owned series) {
        owned = null;
        return series.connection()
                .preparedQuery(FINISH_SERIES)
                .execute(Tuple.of(row.sequence().id(), series.firstValue()))
                .replaceWithVoid();
    }
}
