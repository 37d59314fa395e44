package dev.annals.sequence;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The one connection of a process whose session owns its series, opened when the first series is needed and again when it
 * broke. With the session end its locks.
 */
final class SeriesSession {

    private final Supplier<Uni<SqlConnection>> connect;
    private @Nullable CompletableFuture<SqlConnection> current;

    SeriesSession(Supplier<Uni<SqlConnection>> connect) {
        this.connect = connect;
    }

    /** The connection. A series that was claimed on another one is not owned any longer. */
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

    /** Ends the session, so that others can take over its series at once. */
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
