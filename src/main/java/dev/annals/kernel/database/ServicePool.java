package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.quarkus.reactive.pg.client.PgPoolCreator;
import io.smallrye.mutiny.Uni;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.Pool;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Makes the pools of home: the default one for writes, and one for {@link Reads}. */
@Singleton
public class ServicePool implements PgPoolCreator {

    /** Look-ups of unproven tokens take at most five: see LookUpBounds. */
    private static final int POLLS = 8;

    private final AnnalsConfig annals;
    private final AnnalsConfig.Database limits;
    private volatile @Nullable DatabasePools home;

    ServicePool(AnnalsConfig config) {
        this.annals = config;
        this.limits = config.database();
    }

    @Override
    public Pool create(Input given) {
        DatabasePools made = new DatabasePools(
                given.vertx(),
                given.poolOptions(),
                url(given),
                given.pgConnectOptionsList(),
                annals.readDatabaseUrl().map(url -> DatabaseUrl.parseStandbys(url, "ANNALS_READ_DATABASE_URL")),
                limits,
                DatabasePools.NO_LIMIT);
        home = made;
        return made.create(given.poolOptions(), limits.lockTimeout());
    }

    @Produces
    @Reads
    @Singleton
    io.vertx.mutiny.sqlclient.Pool reads(io.vertx.mutiny.sqlclient.Pool writes) {
        // Makes the default pool, which sets the others.
        writes.size();
        return home().openForReads("reads");
    }

    /** For {@link Database#polls()} of home. The caller closes the pool. */
    io.vertx.mutiny.sqlclient.Pool openPolls(io.vertx.mutiny.sqlclient.Pool writes) {
        writes.size();
        return home().open("polls", POLLS, limits.lockTimeout());
    }

    void close(@Disposes @Reads io.vertx.mutiny.sqlclient.Pool reads) {
        reads.closeAndForget();
    }

    /** Otherwise the garbage collector closes the factories' clients, after the event loops have ended. */
    @PreDestroy
    void close() {
        DatabasePools made = home;
        if (made != null) {
            made.close();
        }
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

    DatabasePools home() {
        return Objects.requireNonNull(home, "the default pool is made before anything draws from it");
    }

    /** As {@link Database#connect()} of home. */
    public Uni<io.vertx.mutiny.sqlclient.SqlConnection> connect() {
        return home().connect();
    }

    /** The caller closes the pool. */
    public io.vertx.mutiny.sqlclient.Pool open(int size) {
        return home().open("other", size, limits.lockTimeout());
    }
}
