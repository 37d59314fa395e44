package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connection whose session owns the series of this process. It opens with the first series, and again after it breaks. The
 * locks end with the session.
 */
final class SeriesSession {

    private final Supplier<Uni<SqlConnection>> connect;
    private @Nullable CompletableFuture<SqlConnection> current;

    SeriesSession(Supplier<Uni<SqlConnection>> connect) {
        this.connect = connect;
    }

    /** Series that were claimed on another connection are no longer owned. */
    synchronized Uni<SqlConnection> connection() {
        CompletableFuture<SqlConnection> connection = current;
        if (connection == null || connection.isCompletedExceptionally()) {
            connection = connect.get()
                    .invoke(opened -> opened.closeHandler(() -> forget(opened)))
                    .subscribeAsCompletionStage();
            current = connection;
        }
        return Uni.createFrom()
                .completionStage(connection)
                .onFailure(CompletionException.class)
                .transform(e -> e.getCause() == null ? e : e.getCause());
    }

    private synchronized void forget(SqlConnection closed) {
        if (current != null && current.getNow(closed).equals(closed)) {
            current = null;
        }
    }

    /** Lets other processes take over the series at once. */
    Uni<Void> close() {
        CompletableFuture<SqlConnection> connection;
        synchronized (this) {
            connection = current;
            current = null;
        }
        return connection == null
                ? Uni.createFrom().voidItem()
                : Uni.createFrom().completionStage(connection).chain(SqlConnection::close);
    }
}
