package dev.annals.core.sequence;

import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.pgclient.PgException;

/** {@link SequenceKind#NATIVE}: one of PostgreSQL's own sequences. */
final class NativeSequence implements SequenceGenerator {

    private static final Sql DRAW_NATIVE = Sql.named("core/sequence/draw_native");

    private final Pool pool;
    private final SequenceRow row;

    NativeSequence(Pool pool, SequenceRow row) {
        this.pool = pool;
        this.row = row;
    }

    @Override
    public Uni<SequenceBlock> next(int count) {
        SequenceGenerator.requireCount(count);
        return DRAW_NATIVE
                .bind("id", row.sequence().id())
                .bind("count", count)
                .execute(pool)
                .map(rows -> {
                    long[] values = new long[count];
                    int i = 0;
                    for (Row value : rows) {
                        values[i++] = value.getLong("value");
                    }
                    return SequenceBlock.of(values);
                })
                .onFailure(failure -> hasState(failure, "2200H")) // sequence_generator_limit_exceeded
                .transform(failure -> row.exhausted())
                .onFailure(failure -> hasState(failure, "42P01")) // undefined_table
                .recoverWithUni(failure -> row.whyNoTable(pool));
    }

    private static boolean hasState(Throwable failure, String state) {
        return failure instanceof PgException error && state.equals(error.getSqlState());
    }
}
