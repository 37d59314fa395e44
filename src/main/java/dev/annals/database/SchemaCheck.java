package dev.annals.database;

import dev.annals.config.AnnalsConfig;
import io.quarkus.runtime.StartupEvent;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.inject.Instance;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.MigrationInfoService;

/**
 * Keeps an instance that does not migrate from serving a schema that is older than its statements. A newer schema is fine:
 * migrations keep what the release before them reads and writes, so that instances can be replaced one by one.
 */
@ApplicationScoped
class SchemaCheck {

    private static final int BEFORE_EVERYTHING = 1;

    private final Instance<Flyway> flyway;
    private final AnnalsConfig.Database config;

    SchemaCheck(Instance<Flyway> flyway, AnnalsConfig config) {
        this.flyway = flyway;
        this.config = config.database();
    }

    void check(@Observes @Priority(BEFORE_EVERYTHING) StartupEvent event) {
        if (config.migrateAtStart()) {
            return;
        }
        MigrationInfoService info = flyway.get().info();
        MigrationInfo[] pending = info.pending();
        if (pending.length > 0) {
            MigrationInfo current = info.current();
            throw new IllegalStateException("The database's schema is at version "
                    + (current == null ? "none" : current.getVersion()) + " and this release needs "
                    + pending[pending.length - 1].getVersion()
                    + ". Run \"migrate\" as its owner, or unset ANNALS_DATABASE_MIGRATE_AT_START.");
        }
    }
}
