package dev.annals.access.places;

import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.OneDatabase;
import io.vertx.mutiny.sqlclient.Pool;

/** The place of every project, for a test with a pool and without a service. */
public final class OnePlace {

    private OnePlace() {}

    public static Places of(Pool pool) {
        return of(OneDatabase.of(pool));
    }

    public static Places of(Databases only) {
        return new Places(only);
    }
}
