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
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes the reactive pools: one for writes, which is the default, and one for {@link Reads}. Their connections log in as the
 * URL's user and immediately become {@code annals_service}, which can change neither records nor the schema. So the wider
 * rights of the migrations never reach a request.
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
        return create(given, given.poolOptions(), limits.lockTimeout());
    }

    /** The other pool. */
    @Produces
    @Reads
    @Singleton
    io.vertx.mutiny.sqlclient.Pool reads(io.vertx.mutiny.sqlclient.Pool writes) {
        // A call makes the default pool, which brings the input.
        writes.size();
        return open("reads", limits.readPoolSize(), limits.lockTimeout());
    }

    void close(@Disposes @Reads io.vertx.mutiny.sqlclient.Pool reads) {
        reads.closeAndForget();
    }

    private Pool create(Input given, PoolOptions poolOptions, Duration lockTimeout) {
        // The configuration names one URL.
        PgConnectOptions database = becomeService(given.pgConnectOptionsList().get(0), lockTimeout);
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
        PgConnectOptions database = becomeService(given.pgConnectOptionsList().get(0), limits.lockTimeout());
        return Uni.createFrom()
                .completionStage(
                        () -> PgConnection.connect(given.vertx(), database).toCompletionStage())
                .map(SqlConnection::newInstance);
    }

    /** Opens another pool like the service's own, of another size. The caller closes it. */
    public io.vertx.mutiny.sqlclient.Pool open(int size) {
        return open("other", size, limits.lockTimeout());
    }

    /** Like {@link #open(int)}, for transactions of writers that wait for a lock this long at most. */
    public io.vertx.mutiny.sqlclient.Pool openForWriters(int size, Duration lockTimeout) {
        return open("writers", size, lockTimeout);
    }

    // The name is the pool's in the metrics.
    private io.vertx.mutiny.sqlclient.Pool open(String name, int size, Duration lockTimeout) {
        Input given = given();
        return io.vertx.mutiny.sqlclient.Pool.newInstance(
                create(given, new PoolOptions(given.poolOptions()).setName(name).setMaxSize(size), lockTimeout));
    }

    private Input given() {
        return Objects.requireNonNull(input, "the pool is made before anything draws from it");
    }

    // Startup parameters, not SET: they apply from the connection's first statement on and cost no round trip.
    private PgConnectOptions becomeService(PgConnectOptions given, Duration lockTimeout) {
        PgConnectOptions options = new PgConnectOptions(given);
        options.addProperty("role", "annals_service");
        options.addProperty("application_name", "annals");
        options.addProperty("lock_timeout", milliseconds(lockTimeout));
        options.addProperty("statement_timeout", milliseconds(limits.statementTimeout()));
        // An instance that is frozen in the middle of a transaction loses its locks to the others.
        options.addProperty("idle_in_transaction_session_timeout", milliseconds(limits.transactionIdleTimeout()));
        // Where the service has vanished, the server learns of it, too, and ends the session with its locks.
        options.addProperty("tcp_keepalives_idle", "10");
        options.addProperty("tcp_keepalives_interval", "5");
        options.addProperty("tcp_keepalives_count", "3");
        options.addProperty("tcp_user_timeout", "30000");
        // A plan that was made while the tables were small stays cached. With a sequential scan, or a join that reads a
        // whole table, it would get slower with every record. Every statement of the service goes by index, from a
        // bounded number of rows to the next.
        options.addProperty("enable_seqscan", "off");
        options.addProperty("enable_hashjoin", "off");
        options.addProperty("enable_mergejoin", "off");
        // For the same reason plans do not depend on the values; making one for each page takes as long as reading the
        // page.
        options.addProperty("plan_cache_mode", "force_generic_plan");
        // A method that is off counts as very expensive where there is no other way; every such plan would be compiled.
        options.addProperty("jit", "off");
        // By default the client does not cache statements of more than 2,048 characters, so they would be parsed and
        // planned for each request: a page of 50 would take twice as long. The service has few statements, whatever
        // their length.
        options.setPreparedStatementCacheSqlFilter(statement -> true);
        options.setConnectTimeout(Math.toIntExact(limits.connectTimeout().toMillis()));
        // With AnswerDeadline's times.
        options.setTcpKeepAlive(true);
        return options;
    }

    private static String milliseconds(Duration duration) {
        return Long.toString(duration.toMillis());
    }
}
