package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.Config;

/** The service's databases. Home is the first: it holds tokens, identities, names, and where each project is. The others are members. */
@Singleton
public class Databases {

    /** The name of the only database, if none is named. */
    public static final String HOME = "main";

    private final AnnalsConfig.Database limits;
    private final Supplier<DatabasePools> home;
    private final List<Database> all = new ArrayList<>();
    private final Queue<DatabasePools> memberPools = new ConcurrentLinkedQueue<>();
    private final Map<String, Database> unknown = new ConcurrentHashMap<>();

    @Inject
    Databases(Pool pool, @Reads Pool reads, ServicePool pools, AnnalsConfig annals, Config config) {
        this(pool, reads, pools.openPolls(pool), pools, annals, NamedDatabase.all(config));
    }

    /** @param named home first */
    Databases(Pool pool, Pool reads, Pool polls, ServicePool pools, AnnalsConfig annals, List<NamedDatabase> named) {
        this.limits = annals.database();
        this.home = pools::home;
        all.add(new Database(named.get(0).name(), pool, reads, polls, home, true, false, true));
        named.stream().skip(1).forEach(member -> all.add(member(member)));
    }

    /** A database that the map names. Its pools fail if the settings do not name it. */
    public Database of(String name) {
        return named(name)
                .orElseGet(() -> unknown.computeIfAbsent(name, absent -> {
                    DatabasePools pools = home.get()
                            .closed("Projects are in the database " + name + ", which ANNALS_DATABASES does not name.");
                    return member(name, pools, false, false);
                }));
    }

    private Database member(NamedDatabase named) {
        DatabaseUrl url = named.url()
                .orElseThrow(() -> new IllegalStateException(
                        NamedDatabase.variables(named.name()) + "URL does not name the database " + named.name()));
        DatabasePools pools = home.get().of(url, named.standbys());
        pools.close("The database " + named.name() + " has not been reached since the start of this instance.");
        return member(named.name(), pools, named.pinned(), named.trusted());
    }

    private Database member(String name, DatabasePools pools, boolean pinned, boolean trusted) {
        memberPools.add(pools);
        return new Database(
                name,
                pools.open(name, limits.poolSize(), limits.lockTimeout()),
                pools.openForReads(name + "-reads"),
                pools.open(name + "-polls", 1, limits.lockTimeout()),
                () -> pools,
                false,
                pinned,
                trusted);
    }

    @PreDestroy
    void close() {
        all.get(0).polls().closeAndForget();
        Stream.concat(members().stream(), unknown.values().stream()).forEach(database -> {
            database.pool().closeAndForget();
            database.reads().closeAndForget();
            database.polls().closeAndForget();
        });
        memberPools.forEach(DatabasePools::close);
    }

    public Database home() {
        return all.get(0);
    }

    /** Home first. */
    public List<Database> all() {
        return all;
    }

    public List<Database> members() {
        return all.subList(1, all.size());
    }

    public Optional<Database> named(String name) {
        return all.stream().filter(database -> database.name().equals(name)).findFirst();
    }
}
