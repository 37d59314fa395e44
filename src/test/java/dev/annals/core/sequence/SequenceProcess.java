package dev.annals.core.sequence;

import dev.annals.access.places.OnePlace;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.OneDatabase;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.tools.embedded.TestDatabase;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.sqlclient.PoolOptions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;

/** The sequences as one service process sees them: a pool, generators and a session of its own, which can be killed. */
final class SequenceProcess implements AutoCloseable {

    static final Duration LONG = Duration.ofSeconds(30);

    static {
        // The first function given to Mutiny sets up its contexts, which two threads must not do at once.
        Uni.createFrom().item(1).map(number -> number).await().indefinitely();
    }

    final Sequences sequences;
    final Pool pool;
    private final Vertx vertx = Vertx.vertx();
    private final String name = "process-" + UUID.randomUUID();
    private final DatabaseUrl database;

    SequenceProcess() {
        this(TestDatabase.url());
    }

    SequenceProcess(DatabaseUrl url) {
        database = url;
        PgConnectOptions options = new PgConnectOptions()
                .setHost(url.host())
                .setPort(url.port())
                .setDatabase(url.database())
                .setUser(url.user())
                .setPassword(url.password())
                .setCachePreparedStatements(true);
        options.addProperty("role", "annals_service");
        options.addProperty("application_name", name);
        pool = Pool.newInstance(PgBuilder.pool()
                .with(new PoolOptions().setMaxSize(6))
                .connectingTo(options)
                .using(vertx)
                .build());
        SeriesSession session = new SeriesSession(() -> Uni.createFrom()
                .completionStage(() -> PgConnection.connect(vertx, options).toCompletionStage())
                .map(SqlConnection::newInstance));
        sequences = new Sequences(
                OnePlace.of(pool), new PerDatabase<>(OneDatabase.of(pool), one -> session), new SequentialGuid());
    }

    /** Its application name. */
    String name() {
        return name;
    }

    Sequence define(UUID projectId, Sequence.Definition definition) {
        return sequences
                .define(projectId, "s-" + UUID.randomUUID(), definition)
                .await()
                .atMost(LONG)
                .sequence();
    }

    SequenceBlock draw(Sequence sequence, int count) {
        return sequences.generator(sequence).next(count).await().atMost(LONG);
    }

    /**
     * Ends the process as a crash does: the server finds its connections gone, and nothing is tidied up.
     *
     * @return how many connections it had
     */
    int kill() throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement kill = connection.prepareStatement(
                        "select count(*) filter (where pg_terminate_backend(pid, 10000)) from pg_stat_activity"
                                + " where application_name = ?")) {
            kill.setString(1, name);
            try (ResultSet killed = kill.executeQuery()) {
                killed.next();
                return killed.getInt(1);
            }
        }
    }

    @Override
    public void close() {
        sequences.close().onFailure().recoverWithNull().await().atMost(LONG);
        pool.close().onFailure().recoverWithNull().await().atMost(LONG);
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
