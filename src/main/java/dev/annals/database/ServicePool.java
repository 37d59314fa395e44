package dev.annals.database;

import dev.annals.config.AnnalsConfig;
import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes the reactive pool. Its connections log in as the URL's user and immediately become {@code annals_service}, which can
 * change neither records nor the schema. So the wider rights of the migrations never reach a request.
 */
@Singleton
public class ServicePool implements PgPoolCreator {

    private final AnnalsConfig.Database limits;
    private volatile @Nullable Input input;

    ServicePool(AnnalsConfig config) {
        this.limits = config.database();
    }

    @Override
    public Pool create(Input given) {
        input = given;
        return create(given, given.poolOptions());
    }

    private Pool create(Input given, PoolOptions poolOptions) {
        // The configuration names one URL.
        PgConnectOptions database = becomeService(given.pgConnectOptionsList().get(0));
        PoolOptions options = poolOptions
                .setMaxWaitQueueSize(limits.poolQueue())
                .setConnectionTimeout(Math.toIntExact(limits.poolWait().toMillis()))
                .setConnectionTimeoutUnit(TimeUnit.MILLISECONDS);
        return PgBuilder.pool()
                .with(options)
                .connectingTo(database)
                .using(given.vertx())
                .build();
    }

    /** Opens a connection outside the pool, for a session that has to last. The caller closes it. */
    public Uni<SqlConnection> connect() {
        Input given = given();
        PgConnectOptions database = becomeService(given.pgConnectOptionsList().get(0));
        return Uni.createFrom()
                .completionStage(
                        () -> PgConnection.connect(given.vertx(), database).toCompletionStage())
                .map(SqlConnection::newInstance);
    }

    /** Opens another pool like the service's own, of another size. The caller closes it. */
    public io.vertx.mutiny.sqlclient.Pool open(int size) {
        Input given = given();
        return io.vertx.mutiny.sqlclient.Pool.newInstance(
                create(given, new PoolOptions(given.poolOptions()).setMaxSize(size)));
    }

    private Input given() {
        return Objects.requireNonNull(input, "the pool is made before anything draws from it");
    }

    // Startup parameters, not SET: they hold from the connection's first statement on and cost no round trip.
    private PgConnectOptions becomeService(PgConnectOptions options) {
        options.addProperty("role", "annals_service");
        options.addProperty("application_name", "annals");
        options.addProperty("lock_timeout", milliseconds(limits.lockTimeout()));
        options.addProperty("statement_timeout", milliseconds(limits.statementTimeout()));
        // A plan that was made while the tables were small stays cached. With a sequential scan, or a join that reads a
        // whole table, it would get slower with every record. Every statement of the service goes by index, from a
        // bounded
        // number of rows to the next.
        options.addProperty("enable_seqscan", "off");
        options.addProperty("enable_hashjoin", "off");
        options.addProperty("enable_mergejoin", "off");
        // For the same reason a plan need not know the values; making one for each page takes as long as reading the
        // page.
        options.addProperty("plan_cache_mode", "force_generic_plan");
        // A method that is off counts as very expensive where there is no other way; every such plan would be compiled.
        options.addProperty("jit", "off");
        return options;
    }

    private static String milliseconds(Duration duration) {
        return Long.toString(duration.toMillis());
    }
}
