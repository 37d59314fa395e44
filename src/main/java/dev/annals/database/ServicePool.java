package dev.annals.database;

import dev.annals.config.AnnalsConfig;
import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Future;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.PgConnection;
import io.vertx.pgclient.spi.PgDriver;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.spi.ConnectionFactory;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes the reactive pools: one for writes, which is the default, and one for {@link Reads}. Their connections log in as the
 * URL's user and immediately become {@code annals_service}, which can change neither records nor the schema. So the wider
 * rights of the migrations never reach a request. Each new connection is asked whether it has become so: see {@link Session}.
 */
@Singleton
public class ServicePool implements PgPoolCreator {

    private static final Sql CHECK_SESSION = Sql.named("check_session");

    private final AnnalsConfig.Database limits;
    private volatile @Nullable Input input;
    private volatile boolean primarySeen;

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
        Pool pool = PgBuilder.pool()
                .with(options)
                .connectingTo(database)
                .using(given.vertx())
                .build();
        return checked(pool, PgDriver.INSTANCE.createConnectionFactory(given.vertx(), database));
    }

    // A pool's connect handler cannot refuse a connection; this is the only way to keep one out.
    @SuppressWarnings("deprecation")
    private Pool checked(Pool pool, ConnectionFactory connections) {
        return pool.connectionProvider(context -> connections.connect(context).compose(this::check));
    }

    private Future<SqlConnection> check(SqlConnection connection) {
        return session(connection)
                .map(session -> {
                    session.require();
                    if (!session.standby()) {
                        primarySeen = true;
                    }
                    return connection;
                })
                .recover(failure -> connection.close().transform(closed -> Future.failedFuture(failure)));
    }

    private Future<Session> session(SqlConnection connection) {
        return connection
                .query(CHECK_SESSION.text())
                .execute()
                .map(rows -> Session.of(rows.iterator().next(), timeLimits(limits.lockTimeout())));
    }

    /**
     * Whether any connection so far led to a server that takes writes. Otherwise this instance is there to read from a standby, and
     * a write that is refused need not be tried again: no failover is under way.
     */
    public boolean hasSeenPrimary() {
        return primarySeen;
    }

    /**
     * Opens a connection outside the pool, for a session that has to last. The caller closes it.
     *
     * @return fails with {@link UnusableSessionException} behind a pooler, where a session may be somebody else's from one
     *     transaction to the next
     */
    public Uni<io.vertx.mutiny.sqlclient.SqlConnection> connect() {
        Input given = given();
        PgConnectOptions database = becomeService(given.pgConnectOptionsList().get(0), limits.lockTimeout());
        return Uni.createFrom()
                .completionStage(() -> PgConnection.connect(given.vertx(), database)
                        .compose(this::checkLasting)
                        .toCompletionStage())
                .map(io.vertx.mutiny.sqlclient.SqlConnection::newInstance);
    }

    private Future<SqlConnection> checkLasting(PgConnection connection) {
        return session(connection)
                .map(session -> {
                    session.require();
                    if (session.backend() != connection.processId()) {
                        throw new UnusableSessionException(
                                "Something between the service and PostgreSQL shares its sessions, as PgBouncer does, and a"
                                        + " sequence of the kind RECYCLED_SERIES holds its series with a lock of its session."
                                        + " Use another kind, or connect without a pooler.");
                    }
                    return (SqlConnection) connection;
                })
                .recover(failure -> connection.close().transform(closed -> Future.failedFuture(failure)));
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

    // Startup parameters, not SET: they apply from the connection's first statement on, and a pooler that hands
    // sessions
    // around would not keep what was SET.
    private PgConnectOptions becomeService(PgConnectOptions given, Duration lockTimeout) {
        PgConnectOptions options = new PgConnectOptions(given);
        options.addProperty("role", Session.ROLE);
        options.addProperty("application_name", "annals");
        timeLimits(lockTimeout).forEach((name, limit) -> options.addProperty(name, milliseconds(limit)));
        // Where the service has vanished, the server learns of it, too, and ends the session with its locks.
        options.addProperty("tcp_keepalives_idle", "10");
        options.addProperty("tcp_keepalives_interval", "5");
        options.addProperty("tcp_keepalives_count", "3");
        options.addProperty("tcp_user_timeout", "30000");
        Session.SETTINGS.forEach(options::addProperty);
        // By default the client does not cache statements of more than 2,048 characters, so they would be parsed and
        // planned for each request: a page of 50 would take twice as long. The service has few statements, whatever
        // their length.
        options.setPreparedStatementCacheSqlFilter(statement -> true);
        options.setConnectTimeout(Math.toIntExact(limits.connectTimeout().toMillis()));
        // With AnswerDeadline's times.
        options.setTcpKeepAlive(true);
        return options;
    }

    private Map<String, Duration> timeLimits(Duration lockTimeout) {
        return Map.of(
                "lock_timeout", lockTimeout,
                "statement_timeout", limits.statementTimeout(),
                // An instance that is frozen in the middle of a transaction loses its locks to the others.
                "idle_in_transaction_session_timeout", limits.transactionIdleTimeout());
    }

    private static String milliseconds(Duration duration) {
        return Long.toString(duration.toMillis());
    }
}
