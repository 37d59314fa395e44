package dev.annals.kernel.database;

import io.vertx.mutiny.sqlclient.Pool;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;

/** The service's databases. Home is the first: it holds tokens, identities, names, and where each project is. */
@Singleton
public class Databases {

    /** The name of the only database, if none is named. */
    public static final String HOME = "main";

    private final List<Database> all;

    Databases(Pool pool, @Reads Pool reads, ServicePool pools) {
        this.all = List.of(new Database(HOME, pool, reads, pools));
    }

    public Database home() {
        return all.get(0);
    }

    /** Home first. */
    public List<Database> all() {
        return all;
    }

    public Optional<Database> named(String name) {
        return all.stream().filter(database -> database.name().equals(name)).findFirst();
    }
}
