package dev.annals.database;

import dev.annals.AnnalsConfig;
import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Future;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.SqlConnection;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes the reactive pool. Its connections log in as the URL's user and at once become {@code annals_service}, which
 * can append and read, and nothing else; so the migrations' wider rights never reach a request.
 */
@Singleton
public class ServicePool implements PgPoolCreator {

    private final AnnalsConfig.Database limits;
    private volatile @Nullable Supplier<Future<SqlConnection>> connector;

    ServicePool(AnnalsConfig config) {
        this.limits = config.database();
    }

    @Override
    public Pool create(Input input) {
        // The configuration names one URL.
        PgConnectOptions database = becomeService(input.pgConnectOptionsList().get(0));
        PoolOptions options = input.poolOptions()
                .setMaxWaitQueueSize(limits.poolQueue())
                .setConnectionTimeout(Math.toIntExact(limits.poolWait().toMillis()))
                .setConnectionTimeoutUnit(TimeUnit.MILLISECONDS);
        connector = () -> PgConnection.connect(input.vertx(), database).map(connection -> connection);
        return PgBuilder.pool()
                .with(options)
                .connectingTo(database)
                .using(input.vertx())
                .build();
    }

    /** Opens a connection that is none of the pool's, for a session that has to last. The caller closes it. */
    public Uni<io.vertx.mutiny.sqlclient.SqlConnection> connect() {
        Supplier<Future<SqlConnection>> open =
                Objects.requireNonNull(connector, "the pool is made before anything draws from it");
        return Uni.createFrom()
                .completionStage(() -> open.get().toCompletionStage())
                .map(io.vertx.mutiny.sqlclient.SqlConnection::newInstance);
    }

    // Startup parameters, not SET: they hold from the connection's first statement on and cost no round trip.
    private PgConnectOptions becomeService(PgConnectOptions options) {
        options.addProperty("role", "annals_service");
        options.addProperty("application_name", "annals");
        options.addProperty("lock_timeout", milliseconds(limits.lockTimeout()));
        options.addProperty("statement_timeout", milliseconds(limits.statementTimeout()));
        return options;
    }

    private static String milliseconds(Duration duration) {
        return Long.toString(duration.toMillis());
    }
}
