package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.time.Duration;
import java.util.Optional;

/** One of the service's databases, with its pools. */
public final class Database {

    private final String name;
    private final Pool pool;
    private final Pool reads;
    private final ServicePool pools;

    Database(String name, Pool pool, Pool reads, ServicePool pools) {
        this.name = name;
        this.pool = pool;
        this.reads = reads;
        this.pools = pools;
    }

    /** As in {@code ANNALS_DATABASES}. */
    public String name() {
        return name;
    }

    /** For writes. */
    public Pool pool() {
        return pool;
    }

    /** For statements that wait for no lock: see {@link Reads}. */
    public Pool reads() {
        return reads;
    }

    /** The caller closes the pool. */
    public Pool openForWriters(int size, Duration lockTimeout) {
        return pools.openForWriters(size, lockTimeout);
    }

    /**
     * Opens a pool for the hot standbys that {@code annals.read-database-url} names. The caller closes it.
     *
     * @return empty if the setting names none
     */
    public Optional<Pool> openForStandbys(int size) {
        // Creates the default pool, from which the one for standbys is made.
        pool.size();
        return pools.openForStandbys(size);
    }

    /** As {@link ServicePool#connect()}. */
    public Uni<SqlConnection> connect() {
        return pools.connect();
    }

    /** As {@link ServicePool#hasSeenPrimary()}. */
    public boolean hasSeenPrimary() {
        return pools.hasSeenPrimary();
    }

    @Override
    public String toString() {
        return name;
    }
}
