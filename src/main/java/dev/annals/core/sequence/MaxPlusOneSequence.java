package dev.annals.core.sequence;

import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgException;

/**
 * {@link SequenceKind#MAX_PLUS_ONE}. A second call without an insert returns the same value again. Callers need USAGE on the
 * schema {@code annals} and EXECUTE on {@code annals.max_plus_one}, which {@code annals_writer} has.
 */
public final class MaxPlusOneSequence {

    private static final Sql MAX_PLUS_ONE = Sql.named("core/sequence/max_plus_one");

    private final String table;
    private final String column;

    /**
     * A sequence over a bigint column, which should have an index.
     *
     * @param table as in SQL: {@code schema.table}, quoted if necessary
     * @param column without quotes
     */
    public MaxPlusOneSequence(String table, String column) {
        this.table = table;
        this.column = column;
    }

    /** All other callers wait until the caller's READ COMMITTED transaction ends. */
    public SequenceGenerator in(SqlConnection transaction) {
        return count -> {
            SequenceGenerator.requireCount(count);
            return MAX_PLUS_ONE
                    .bind("table", table)
                    .bind("column", column)
                    .execute(transaction)
                    .map(rows -> rows.iterator().next().getLong("value"))
                    .onFailure(MaxPlusOneSequence::isExhausted)
                    .transform(failure -> exhausted())
                    .map(first -> block(first, count));
        };
    }

    private SequenceBlock block(long first, int count) {
        if (first > Long.MAX_VALUE - count) {
            throw exhausted();
        }
        return SequenceBlock.adjacent(first, count);
    }

    private ProblemException exhausted() {
        return new ProblemException(
                ProblemType.SEQUENCE_EXHAUSTED, table + "." + column + " has reached the greatest bigint.");
    }

    private static boolean isExhausted(Throwable failure) {
        return failure instanceof PgException error && "2200H".equals(error.getSqlState());
    }
}
