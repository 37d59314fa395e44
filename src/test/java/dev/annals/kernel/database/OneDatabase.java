package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.Settings;
import io.vertx.mutiny.sqlclient.Pool;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A service's databases, of which there is one, for a test with a pool and without a service. */
public final class OneDatabase {

    private OneDatabase() {}

    /** Opens no other pool. */
    public static Databases of(Pool pool) {
        return of(pool, new ServicePool(Settings.of(AnnalsConfig.class, Map.of())));
    }

    /** @param pools open what the database opens besides the pool */
    public static Databases of(Pool pool, ServicePool pools) {
        return new Databases(
                pool,
                pool,
                pool,
                pools,
                Settings.of(AnnalsConfig.class, Map.of()),
                List.of(new NamedDatabase(Databases.HOME, Optional.empty(), Optional.empty(), false, true)));
    }
}
