package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.Settings;
import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.PoolOptions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Pools as the service's own, for a test with a database and without a service. The test closes the pools that it opens. */
public final class PoolFixture {

    private static final Vertx VERTX = Vertx.vertx();

    private final ServicePool pools;

    private record Input(Vertx vertx, PoolOptions poolOptions, List<PgConnectOptions> pgConnectOptionsList)
            implements PgPoolCreator.Input {}

    /** @param settings of the service that differ from the defaults */
    public PoolFixture(DatabaseUrl database, Map<String, String> settings) {
        this(database, settings, VERTX);
    }

    /** On event loops of the caller's. */
    PoolFixture(DatabaseUrl database, Map<String, String> settings, Vertx vertx) {
        List<PgConnectOptions> servers = database.servers().stream()
                .map(server -> new PgConnectOptions()
                        .setHost(server.host())
                        .setPort(server.port())
                        .setDatabase(database.database())
                        .setUser(database.user())
                        .setPassword(database.password())
                        .setCachePreparedStatements(true))
                .toList();
        Map<String, String> all = new HashMap<>(settings);
        all.put("annals.database-url", database.withPassword());
        pools = new ServicePool(Settings.of(AnnalsConfig.class, all));
        // The service's own pool is never used, and so never connects. The others are made from it.
        pools.create(new Input(vertx, new PoolOptions(), servers));
    }

    /** The event loops of the pools. */
    static Vertx vertx() {
        return VERTX;
    }

    /** Closes what all pools share. */
    void close() {
        pools.close();
    }

    public Pool open(int size) {
        return pools.open(size);
    }

    /** The pool for reads, of which each project has a share. */
    Pool openForReads() {
        return pools.home().openForReads("reads");
    }

    /** The pool for reads of a member. */
    Pool openForReadsOf(DatabaseUrl member, long answerBytes) {
        return pools.home().of(member, Optional.empty(), answerBytes).openForReads("reads");
    }

    /** A connection for a session that has to last. */
    public Uni<SqlConnection> connect() {
        return pools.connect();
    }
}
