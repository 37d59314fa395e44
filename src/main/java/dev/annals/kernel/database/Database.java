package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** One of the service's databases, with its pools. */
public final class Database {

    private final String name;
    private final Pool pool;
    private final Pool reads;
    private final Pool polls;
    private final Supplier<DatabasePools> pools;
    /** Before the names of its pools, which the metrics show. */
    private final String prefix;

    private final boolean pinned;
    private final boolean trusted;
    private final Commits commits;

    Database(
            String name,
            Pool pool,
            Pool reads,
            Pool polls,
            Supplier<DatabasePools> pools,
            boolean home,
            boolean pinned,
            boolean trusted) {
        this.name = name;
        this.pool = pool;
        this.reads = reads;
        this.polls = polls;
        this.pools = pools;
        this.prefix = home ? "" : name + "-";
        this.pinned = pinned;
        this.trusted = trusted;
        this.commits = new Commits(polls);
    }

    /** As in {@code ANNALS_DATABASES}. */
    public String name() {
        return name;
    }

    /** If so, projects are created here by name alone, and none moves here or leaves. */
    public boolean pinned() {
        return pinned;
    }

    /** If not, its owner may be an application's team: its streams reach public addresses alone, without an identity of the service. */
    public boolean trusted() {
        return trusted;
    }

    /** For writes. */
    public Pool pool() {
        return pool;
    }

    /** For statements that wait for no lock: see {@link Reads}. A statement with a bind {@code project_id} counts in that project's share. */
    public Pool reads() {
        return reads;
    }

    /** As {@link #reads()}, also for statements and transactions that do not name their project. */
    public Pool reads(UUID project) {
        return reads instanceof ReadPool shared ? shared.of(project) : reads;
    }

    /**
     * For short statements that loops repeat, that admit a request, or that tell whether the service is ready, whatever the database has
     * to do: for a member, one connection. What they find is done on another pool.
     */
    public Pool polls() {
        return polls;
    }

    /** The caller closes the pool. */
    public Pool openForWriters(int size, Duration lockTimeout) {
        return pools.get().open(prefix + "writers", size, lockTimeout);
    }

    /**
     * Opens a pool for the hot standbys that the settings name. The caller closes it.
     *
     * @return empty if they name none
     */
    public Optional<Pool> openForStandbys(int size) {
        return pools.get().openForStandbys(prefix + "standbys", size);
    }

    /**
     * Opens a connection for a session that has to last. The caller closes it.
     *
     * @return fails with {@link UnusableSessionException} behind a pooler, which may change the session with each transaction
     */
    public Uni<SqlConnection> connect() {
        return pools.get().connect();
    }

    /** If not, this instance reads from a standby: a refused write is not repeated, since no failover is under way. */
    public boolean hasSeenPrimary() {
        return pools.get().hasSeenPrimary();
    }

    /**
     * A task for a {@link PeriodicTask} that rests while the database is idle: after a run that left it idle, the next one follows a
     * commit in the database's server, or 15 seconds.
     *
     * @param task true runs it again at once
     * @param idle whether the last run has shown that there is nothing to do before another commit, however much time passes
     */
    public Supplier<Uni<Boolean>> unlessIdle(Supplier<Uni<Boolean>> task, BooleanSupplier idle) {
        return commits.unlessIdle(task, idle);
    }

    /** Ends the refusal of new connections. */
    void open() {
        pools.get().close(null);
    }

    @Override
    public String toString() {
        return name;
    }
}
