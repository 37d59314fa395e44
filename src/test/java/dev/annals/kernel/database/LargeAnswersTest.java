package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A member, whose owner decides what its functions return, cannot use up the memory of the service. */
@BesideTheService
class LargeAnswersTest {

    private static final int LIMIT_SECONDS = 60;
    private static final long LIMIT = 2_000_000;

    private final SqlFixture sql = SqlFixture.ofTheSchemaAlone();
    private final PoolFixture pools = new PoolFixture(sql.database(), Map.of());
    private final Pool member = pools.openForReadsOf(sql.database(), LIMIT);

    @AfterEach
    void close() {
        member.close().await().indefinitely();
        pools.close();
    }

    private static RowSet<Row> run(Pool pool, String statement) throws Exception {
        CompletableFuture<RowSet<Row>> rows = pool.withConnection(
                        connection -> connection.preparedQuery(statement).execute())
                .subscribeAsCompletionStage();
        return rows.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "select from generate_series(1, %1$d / 64)",
                "select 1, null, 'x', true from generate_series(1, %1$d / 320)",
                "select repeat('x', 1000) from generate_series(1, %1$d / 1000)",
                "select array_agg(repeat('x', 1000)) from generate_series(1, %1$d / 1000)",
                "select repeat(repeat('x', 1000), (%1$d / 1000)::integer)"
            })
    void aMemberThatAnswersWithTooMuchIsAwayForAWhile(String statement) throws Exception {
        assertThat(run(member, "select g, 'an ordinary answer' from generate_series(1, 5000) as g"))
                .hasSize(5_000);

        assertThatThrownBy(() -> run(member, statement.formatted(LIMIT)))
                .cause()
                .satisfies(failure ->
                        assertThat(DatabaseFailure.isTransient(failure)).isTrue());

        // The pool may still have connections that were closed.
        Await.until("the member is away", () -> {
            ExecutionException refused = assertThrows(ExecutionException.class, () -> run(member, "select 1"));
            return refused.getCause() instanceof UnusableSessionException why
                    && String.valueOf(why.getMessage()).contains("answers with more than " + LIMIT + " bytes");
        });
    }

    @Test
    void answersThatHaveArrivedCountNoMore() throws Exception {
        for (int i = 0; i < 6; i++) {
            assertThat(run(member, "select repeat('x', 1000000)")).hasSize(1);
        }
    }

    @Test
    void homeHasNoLimit() throws Exception {
        Pool home = pools.openForReads();
        try {
            assertThat(run(home, "select from generate_series(1, " + LIMIT / 64 + ")"))
                    .isNotEmpty();
        } finally {
            home.close().await().indefinitely();
        }
    }
}
