package dev.annals.sequence;

import dev.annals.database.Sql;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import io.vertx.pgclient.PgException;

/**
 * {@link SequenceKind#MAX_PLUS_ONE}: the value after the greatest one in a column of the caller's table.
 *
 * <p>A value is taken once a row with it is inserted: a second call without an insert gives the same again. Callers need
 * USAGE on the schema {@code annals} and EXECUTE on {@code annals.max_plus_one}, which {@code annals_writer} has.
 */
public final class MaxPlusOneSequence {

    private static final String MAX_PLUS_ONE = Sql.named("max_plus_one");

    private final String table;
    private final String column;

    /**
     * A sequence over one column.
     *
     * @param table as SQL writes it: {@code schema.table}, quoted where need be
     * @param column its name, without quotes; of type bigint, and best with an index
     */
    public MaxPlusOneSequence(String table, String column) {
        this.table = table;
        this.column = column;
    }

    /** A generator that draws in a READ COMMITTED transaction of the caller's. Everybody else waits until it ends. */
    public SequenceGenerator in(SqlConnection transaction) {
        return count -> {
            SequenceGenerator.requireCount(count);
            return transaction
                    .preparedQuery(MAX_PLUS_ONE)
                    .execute(Tuple.of(table, column))
                    .map(rows -> rows.iterator().next().getLong(0))
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
