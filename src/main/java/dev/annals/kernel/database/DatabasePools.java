package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.quarantine.AnswerLimit;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.SslMode;
import io.vertx.pgclient.spi.PgDriver;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.spi.ConnectionFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Makes the pools of one database. Connections log in as the URL's user and become {@code annals_service}, so that the rights of
 * migrations never reach a request. {@link Session} checks each. Pools open connections only when they are used.
 */
final class DatabasePools {

    /** More waiting requests than a pool serves within their waiting time. */
    private static final int POOL_QUEUE = 1_024;
    /** Only a frozen instance exceeds it, and must not keep its locks. */
    private static final Duration TRANSACTION_IDLE_TIMEOUT = Duration.ofSeconds(10);
    /** Connections that a burst has left are closed, so that an instance can have a hundred members. */
    private static final Duration MEMBER_IDLE = Duration.ofMinutes(1);

    /** For home, whose owner has the service's trust. */
    static final long NO_LIMIT = 0;

    /** For two of the largest pages, by default. */
    private static final long LEAST_ANSWER_BYTES = 16_777_216;
    /** The service needs the rest of its heap for the other databases. */
    private static final int ANSWER_PART = 16;

    private static final Duration AWAY = Duration.ofMinutes(1);
    private static final Logger LOG = Logger.getLogger(DatabasePools.class);

    private static final Sql CHECK_SESSION = Sql.named("kernel/database/check_session");

    private final Vertx vertx;
    private final PoolOptions poolOptions;
    private final DatabaseUrl url;
    private final List<PgConnectOptions> named;
    private final Optional<DatabaseUrl> standbys;
    private final AnnalsConfig.Database limits;
    private final DatabasePath path;
    private final @Nullable AnswerLimit answers;

    private final Timelines timelines = new Timelines();
    /** They belong to all pools, and to connections without one. */
    private final Queue<ConnectionFactory> factories = new ConcurrentLinkedQueue<>();

    private @Nullable Servers<ConnectionFactory> single;

    private volatile boolean primarySeen;
    /** Why no connection is made; null if they are. */
    private volatile @Nullable String closed;
    /** As {@link #closed}, for a while. */
    private volatile @Nullable String away;

    /**
     * @param poolOptions copied for each pool
     * @param named as the URL names the servers
     * @param answerBytes as in {@link #of}, or {@link #NO_LIMIT}
     */
    DatabasePools(
            Vertx vertx,
            PoolOptions poolOptions,
            DatabaseUrl url,
            List<PgConnectOptions> named,
            Optional<DatabaseUrl> standbys,
            AnnalsConfig.Database limits,
            long answerBytes) {
        this.vertx = vertx;
        this.poolOptions = poolOptions;
        this.url = url;
        this.named = named;
        this.standbys = standbys;
        this.limits = limits;
        this.path = new DatabasePath(
                vertx,
                limits.statementTimeout().plus(limits.lockTimeout()).plus(limits.answerTimeout()),
                standbys.isPresent() || url.servers().size() > 1);
        this.answers = answerBytes == NO_LIMIT ? null : new AnswerLimit(answerBytes, 2 * answerBytes, this::leave);
    }

    /** The pools of another database, with this one's options. */
    DatabasePools of(DatabaseUrl other, Optional<DatabaseUrl> standbys) {
        return of(
                other,
                standbys,
                Math.max(LEAST_ANSWER_BYTES, Runtime.getRuntime().maxMemory() / ANSWER_PART));
    }

    /** @param answerBytes the most memory of an answer; twice as much of all that arrive at the same time */
    DatabasePools of(DatabaseUrl other, Optional<DatabaseUrl> standbys, long answerBytes) {
        return new DatabasePools(
                vertx,
                new PoolOptions(poolOptions)
                        .setIdleTimeout(Math.toIntExact(MEMBER_IDLE.toSeconds()))
                        .setIdleTimeoutUnit(TimeUnit.SECONDS),
                other,
                connectOptions(other),
                standbys,
                limits,
                answerBytes);
    }

    /** The pools of a database without an address. */
    DatabasePools closed(String reason) {
        DatabasePools pools = of(url, Optional.empty());
        pools.close(reason);
        return pools;
    }

    /** Fails each new connection for a reason, until it is null. */
    void close(@Nullable String reason) {
        closed = reason;
    }

    /** Uses the database no more for a while: it would do the same again, and cost the others their memory. */
    private void leave(String what) {
        if (away == null) {
            String reason = "The database " + url + " is not used for "
                    + AWAY.toSeconds() + " s, because it " + what
                    + ". Look at what its functions and views return: annals verify.";
            away = reason;
            LOG.error(reason);
            vertx.setTimer(AWAY.toMillis(), over -> away = null);
        }
    }

    private Future<Void> requireOpen() {
        String reason = closed == null ? away : closed;
        return reason == null ? Future.succeededFuture() : Future.failedFuture(new UnusableSessionException(reason));
    }

    private <C extends SqlConnection> C watched(C connection) {
        return answers == null ? path.watched(connection) : answers.on(path.watched(connection));
    }

    Pool create(PoolOptions poolOptions, Duration lockTimeout) {
        return create(url, named, poolOptions, lockTimeout);
    }

    private Pool create(DatabaseUrl url, List<PgConnectOptions> named, PoolOptions poolOptions, Duration lockTimeout) {
        PoolOptions options = poolOptions
                .setMaxWaitQueueSize(POOL_QUEUE)
                .setConnectionTimeout(Math.toIntExact(limits.poolWait().toMillis()))
                .setConnectionTimeoutUnit(TimeUnit.MILLISECONDS);
        List<PgConnectOptions> servers =
                named.stream().map(server -> becomeService(server, lockTimeout)).toList();
        // The pool's own connect options are never used.
        Pool pool = PgBuilder.pool()
                .with(options)
                .connectingTo(servers.get(0))
                .using(vertx)
                .build();
        Servers<ConnectionFactory> connections = new Servers<>(url, factories(servers), timelines);
        return checked(pool, connections, new ConnectAttempts(vertx));
    }

    private List<ConnectionFactory> factories(List<PgConnectOptions> servers) {
        return servers.stream()
                .map(server -> {
                    ConnectionFactory factory = PgDriver.INSTANCE.createConnectionFactory(vertx, server);
                    factories.add(factory);
                    return factory;
                })
                .toList();
    }

    /** Otherwise the garbage collector closes the factories' clients, after the event loops have ended. */
    void close() {
        factories.forEach(factory -> factory.close(Promise.promise()));
        path.close();
    }

    // A pool's connect handler cannot refuse a connection.
    @SuppressWarnings("deprecation")
    private Pool checked(Pool pool, Servers<ConnectionFactory> servers, ConnectAttempts attempts) {
        return pool.connectionProvider(context -> requireOpen()
                .compose(open -> attempts.connect(() -> servers.connect(
                                server -> server.connect(context).map(this::watched), this::usable)
                        .map(this::found))));
    }

    private SqlConnection found(Servers.Found<ConnectionFactory, ? extends SqlConnection> found) {
        if (!found.session().standby()) {
            primarySeen = true;
        }
        path.leadsTo(found);
        return found.connection();
    }

    private Future<Session> usable(SqlConnection connection) {
        return session(connection).map(session -> {
            session.require();
            return session;
        });
    }

    private Future<Session> session(SqlConnection connection) {
        return connection
                .query(CHECK_SESSION.text())
                .execute()
                .map(rows -> Session.of(rows.iterator().next(), timeLimits(limits.lockTimeout())));
    }

    /** If not, this instance reads from a standby: a refused write is not repeated, since no failover is under way. */
    boolean hasSeenPrimary() {
        return primarySeen;
    }

    /**
     * Opens a connection for a session that has to last. The caller closes it.
     *
     * @return fails with {@link UnusableSessionException} behind a pooler, which may change the session with each transaction
     */
    Uni<io.vertx.mutiny.sqlclient.SqlConnection> connect() {
        Servers<ConnectionFactory> servers = single();
        return Uni.createFrom()
                .completionStage(() -> requireOpen()
                        .compose(open -> servers.connect(
                                server -> server.connect(vertx.getOrCreateContext())
                                        .map(this::watched),
                                this::lasting))
                        .map(this::found)
                        .toCompletionStage())
                .map(io.vertx.mutiny.sqlclient.SqlConnection::newInstance);
    }

    private synchronized Servers<ConnectionFactory> single() {
        Servers<ConnectionFactory> servers = single;
        if (servers == null) {
            List<PgConnectOptions> named = this.named.stream()
                    .map(server -> becomeService(server, limits.lockTimeout()))
                    .toList();
            servers = new Servers<>(url, factories(named), timelines);
            single = servers;
        }
        return servers;
    }

    private Future<Session> lasting(SqlConnection connection) {
        return usable(connection).map(session -> {
            if (!session.answersAlone(connection)) {
                throw new UnusableSessionException(
                        "Something between the service and PostgreSQL shares its sessions, as PgBouncer does, and a"
                                + " sequence of the kind RECYCLED_SERIES holds its series with a lock of its session."
                                + " Use another kind, or connect without a pooler.");
            }
            return session;
        });
    }

    /** The caller closes the pool. */
    Optional<io.vertx.mutiny.sqlclient.Pool> openForStandbys(String name, int size) {
        return standbys.map(other -> {
            PoolOptions options = new PoolOptions(poolOptions).setName(name).setMaxSize(size);
            return shared(create(other, connectOptions(other), options, limits.lockTimeout()), size);
        });
    }

    /** A URL without a password has that of this database. */
    private List<PgConnectOptions> connectOptions(DatabaseUrl other) {
        PgConnectOptions first = named.get(0);
        return other.servers().stream()
                .map(server -> secured(new PgConnectOptions(first), other)
                        .setHost(server.host())
                        .setPort(server.port())
                        .setDatabase(other.database())
                        .setUser(other.user())
                        .setPassword(other.password().isEmpty() ? first.getPassword() : other.password()))
                .toList();
    }

    // As DatabaseUrlConfigSource configures Quarkus.
    private static PgConnectOptions secured(PgConnectOptions options, DatabaseUrl url) {
        boolean verifies = url.sslMode().startsWith("verify-");
        options.setSslMode(SslMode.of(url.sslMode())).setTrustAll(!verifies);
        options.setHostnameVerificationAlgorithm(url.sslMode().equals("verify-full") ? "HTTPS" : "");
        if (verifies) {
            url.sslRootCertificate()
                    .ifPresent(file -> options.setPemTrustOptions(new PemTrustOptions().addCertPath(file)));
        }
        return options;
    }

    /** Projects have shares of its connections. */
    io.vertx.mutiny.sqlclient.Pool openForReads(String name) {
        int size = limits.readPoolSize();
        PoolOptions options = new PoolOptions(poolOptions).setName(name).setMaxSize(size);
        return shared(create(options, limits.lockTimeout()), size);
    }

    private io.vertx.mutiny.sqlclient.Pool shared(Pool pool, int size) {
        return new ReadPool(pool, new ProjectShares(size, limits.poolWait(), vertx), path::ended);
    }

    // The metrics show the name.
    io.vertx.mutiny.sqlclient.Pool open(String name, int size, Duration lockTimeout) {
        return io.vertx.mutiny.sqlclient.Pool.newInstance(
                create(new PoolOptions(poolOptions).setName(name).setMaxSize(size), lockTimeout));
    }

    // Startup parameters, because a pooler that shares sessions would not keep values of SET.
    private PgConnectOptions becomeService(PgConnectOptions given, Duration lockTimeout) {
        PgConnectOptions options = new PgConnectOptions(given);
        options.addProperty("role", Session.ROLE);
        options.addProperty("application_name", "annals");
        timeLimits(lockTimeout).forEach((name, limit) -> options.addProperty(name, milliseconds(limit)));
        // If the service vanishes, its locks must end.
        options.addProperty("tcp_keepalives_idle", "10");
        options.addProperty("tcp_keepalives_interval", "5");
        options.addProperty("tcp_keepalives_count", "3");
        options.addProperty("tcp_user_timeout", "30000");
        Session.SETTINGS.forEach(options::addProperty);
        // The client's default excludes statements above 2,048 characters: to plan them anew doubles the time of a page
        // of 50. Statements that differ by request would only push out the others.
        options.setPreparedStatementCacheSqlFilter(statement -> !statement.startsWith(Sql.ONCE));
        options.setConnectTimeout(Math.toIntExact(limits.connectTimeout().toMillis()));
        // The times are those of AnswerDeadline.
        options.setTcpKeepAlive(true);
        return options;
    }

    private Map<String, Duration> timeLimits(Duration lockTimeout) {
        return Map.of(
                "lock_timeout", lockTimeout,
                "statement_timeout", limits.statementTimeout(),
                "idle_in_transaction_session_timeout", TRANSACTION_IDLE_TIMEOUT);
    }

    private static String milliseconds(Duration duration) {
        return Long.toString(duration.toMillis());
    }
}
