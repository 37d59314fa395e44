package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.pgclient.SslMode;
import io.vertx.pgclient.spi.PgDriver;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.spi.ConnectionFactory;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes the reactive pools: the default one for writes, and one for {@link Reads}. Connections log in as the URL's user and
 * become {@code annals_service}, so that the rights of migrations never reach a request. {@link Session} checks each.
 */
@Singleton
public class ServicePool implements PgPoolCreator {

    /** More waiting requests than a pool serves within their waiting time. */
    private static final int POOL_QUEUE = 1_024;
    /** Only a frozen instance exceeds it, and must not keep its locks. */
    private static final Duration TRANSACTION_IDLE_TIMEOUT = Duration.ofSeconds(10);

    private static final Sql CHECK_SESSION = Sql.named("kernel/database/check_session");

    private final AnnalsConfig annals;
    private final AnnalsConfig.Database limits;
    private volatile @Nullable Input input;
    private volatile @Nullable DatabasePath path;
    private final Timelines timelines = new Timelines();
    /** Of all pools, and of connections without one. */
    private final Queue<ConnectionFactory> factories = new ConcurrentLinkedQueue<>();

    private @Nullable Servers<ConnectionFactory> single;

    private volatile boolean primarySeen;

    ServicePool(AnnalsConfig config) {
        this.annals = config;
        this.limits = config.database();
    }

    @Override
    public Pool create(Input given) {
        input = given;
        path = new DatabasePath(
                given.vertx(),
                limits.statementTimeout().plus(limits.lockTimeout()).plus(limits.answerTimeout()),
                annals.readDatabaseUrl().isPresent() || url(given).servers().size() > 1);
        return create(given, given.poolOptions(), limits.lockTimeout());
    }

    @Produces
    @Reads
    @Singleton
    io.vertx.mutiny.sqlclient.Pool reads(io.vertx.mutiny.sqlclient.Pool writes) {
        // Makes the default pool, which sets the input.
        writes.size();
        return open("reads", limits.readPoolSize(), limits.lockTimeout());
    }

    void close(@Disposes @Reads io.vertx.mutiny.sqlclient.Pool reads) {
        reads.closeAndForget();
    }

    private Pool create(Input given, PoolOptions poolOptions, Duration lockTimeout) {
        return create(given, url(given), given.pgConnectOptionsList(), poolOptions, lockTimeout);
    }

    private Pool create(
            Input given, DatabaseUrl url, List<PgConnectOptions> named, PoolOptions poolOptions, Duration lockTimeout) {
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
                .using(given.vertx())
                .build();
        Servers<ConnectionFactory> connections = new Servers<>(url, factories(given, servers), timelines);
        return checked(pool, connections, new ConnectAttempts(given.vertx()));
    }

    private List<ConnectionFactory> factories(Input given, List<PgConnectOptions> servers) {
        return servers.stream()
                .map(server -> {
                    ConnectionFactory factory = PgDriver.INSTANCE.createConnectionFactory(given.vertx(), server);
                    factories.add(factory);
                    return factory;
                })
                .toList();
    }

    /** Otherwise the garbage collector closes the factories' clients, after the event loops have ended. */
    @PreDestroy
    void close() {
        factories.forEach(factory -> factory.close(Promise.promise()));
        DatabasePath path = this.path;
        if (path != null) {
            path.close();
        }
    }

    // A pool's connect handler cannot refuse a connection.
    @SuppressWarnings("deprecation")
    private Pool checked(Pool pool, Servers<ConnectionFactory> servers, ConnectAttempts attempts) {
        return pool.connectionProvider(context -> attempts.connect(() -> servers.connect(
                        server -> server.connect(context).map(path()::watched), this::usable)
                .map(this::found)));
    }

    private SqlConnection found(Servers.Found<ConnectionFactory, ? extends SqlConnection> found) {
        if (!found.session().standby()) {
            primarySeen = true;
        }
        path().leadsTo(found);
        return found.connection();
    }

    /** For data sources configured by hand, one server of any kind. */
    private DatabaseUrl url(Input given) {
        PgConnectOptions first = given.pgConnectOptionsList().get(0);
        return annals.databaseUrl()
                .map(DatabaseUrl::parse)
                .filter(url ->
                        url.servers().size() == given.pgConnectOptionsList().size())
                .orElseGet(() -> new DatabaseUrl(
                        first.getUser(), "", first.getHost(), first.getPort(), first.getDatabase(), Map.of()));
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
    public boolean hasSeenPrimary() {
        return primarySeen;
    }

    /**
     * Opens a connection for a session that has to last. The caller closes it.
     *
     * @return fails with {@link UnusableSessionException} behind a pooler, which may change the session with each transaction
     */
    public Uni<io.vertx.mutiny.sqlclient.SqlConnection> connect() {
        Input given = given();
        Servers<ConnectionFactory> servers = single(given);
        return Uni.createFrom()
                .completionStage(() -> servers.connect(
                                server -> server.connect(given.vertx().getOrCreateContext())
                                        .map(path()::watched),
                                this::lasting)
                        .map(this::found)
                        .toCompletionStage())
                .map(io.vertx.mutiny.sqlclient.SqlConnection::newInstance);
    }

    private synchronized Servers<ConnectionFactory> single(Input given) {
        Servers<ConnectionFactory> servers = single;
        if (servers == null) {
            List<PgConnectOptions> named = given.pgConnectOptionsList().stream()
                    .map(server -> becomeService(server, limits.lockTimeout()))
                    .toList();
            servers = new Servers<>(url(given), factories(given, named), timelines);
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
    public io.vertx.mutiny.sqlclient.Pool open(int size) {
        return open("other", size, limits.lockTimeout());
    }

    /** The caller closes the pool. */
    public io.vertx.mutiny.sqlclient.Pool openForWriters(int size, Duration lockTimeout) {
        return open("writers", size, lockTimeout);
    }

    /**
     * The pool for {@code annals.read-database-url}. The caller closes it.
     *
     * @return empty if the setting is not set
     * @throws IllegalArgumentException if the URL cannot be read, with a sentence that never shows its password
     */
    Optional<io.vertx.mutiny.sqlclient.Pool> openForStandbys(int size) {
        return annals.readDatabaseUrl().map(url -> openForStandbys(DatabaseUrl.parseStandbys(url), size));
    }

    private io.vertx.mutiny.sqlclient.Pool openForStandbys(DatabaseUrl url, int size) {
        Input given = given();
        PgConnectOptions first = given.pgConnectOptionsList().get(0);
        List<PgConnectOptions> servers = url.servers().stream()
                .map(server -> secured(new PgConnectOptions(first), url)
                        .setHost(server.host())
                        .setPort(server.port())
                        .setDatabase(url.database())
                        .setUser(url.user())
                        .setPassword(url.password().isEmpty() ? first.getPassword() : url.password()))
                .toList();
        PoolOptions options =
                new PoolOptions(given.poolOptions()).setName("standbys").setMaxSize(size);
        return io.vertx.mutiny.sqlclient.Pool.newInstance(create(given, url, servers, options, limits.lockTimeout()));
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

    // The metrics show the name.
    private io.vertx.mutiny.sqlclient.Pool open(String name, int size, Duration lockTimeout) {
        Input given = given();
        return io.vertx.mutiny.sqlclient.Pool.newInstance(
                create(given, new PoolOptions(given.poolOptions()).setName(name).setMaxSize(size), lockTimeout));
    }

    private Input given() {
        return Objects.requireNonNull(input, "the pool is made before anything draws from it");
    }

    private DatabasePath path() {
        return Objects.requireNonNull(path, "the path is made with the first pool");
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
        // of
        // 50. Statements that differ by request would only push out the others.
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
