package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.core.Future;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A pool that limits each project to its share. {@link Binds} names the project of a statement. A connection that was given up counts
 * until the server has ended its statement, which may ignore the end of the connection.
 */
final class ReadPool extends Pool {

    private final ProjectShares shares;
    private final Function<io.vertx.sqlclient.SqlConnection, Future<Void>> ended;
    /** For statements that do not name one. */
    private final @Nullable UUID project;

    /** @param ended completes when the server has ended what it did for a connection */
    ReadPool(
            io.vertx.sqlclient.Pool pool,
            ProjectShares shares,
            Function<io.vertx.sqlclient.SqlConnection, Future<Void>> ended) {
        this(pool, shares, ended, null);
    }

    private ReadPool(
            io.vertx.sqlclient.Pool pool,
            ProjectShares shares,
            Function<io.vertx.sqlclient.SqlConnection, Future<Void>> ended,
            @Nullable UUID project) {
        super(pool);
        this.shares = shares;
        this.ended = ended;
        this.project = project;
    }

    /** The same pool for one project. */
    ReadPool of(UUID project) {
        return new ReadPool(getDelegate(), shares, ended, project);
    }

    /** @param project null if the statement serves several projects, or none */
    <T> Uni<T> withConnection(@Nullable UUID project, Function<SqlConnection, Uni<T>> work) {
        return inTurn(project == null ? this.project : project, work, super::withConnection);
    }

    @Override
    public <T> Uni<T> withConnection(Function<SqlConnection, Uni<T>> work) {
        return inTurn(project, work, super::withConnection);
    }

    @Override
    public <T> Uni<T> withTransaction(Function<SqlConnection, Uni<T>> work) {
        return inTurn(project, work, super::withTransaction);
    }

    private <T> Uni<T> inTurn(
            @Nullable UUID project,
            Function<SqlConnection, Uni<T>> work,
            Function<Function<SqlConnection, Uni<T>>, Uni<T>> connect) {
        AtomicReference<io.vertx.sqlclient.SqlConnection> used = new AtomicReference<>();
        return shares.run(
                project,
                () -> connect.apply(connection -> {
                    used.set(connection.getDelegate());
                    return work.apply(connection);
                }),
                () -> {
                    io.vertx.sqlclient.SqlConnection connection = used.get();
                    return connection == null ? Future.succeededFuture() : ended.apply(connection);
                });
    }
}
