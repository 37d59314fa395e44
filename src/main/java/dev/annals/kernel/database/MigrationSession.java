package dev.annals.kernel.database;

import io.quarkus.flyway.FlywayConfigurationCustomizer;
import jakarta.inject.Singleton;
import org.flywaydb.core.api.configuration.FluentConfiguration;

/** Gives sessions of migrations the settings that the schema relies on. */
@Singleton
class MigrationSession implements FlywayConfigurationCustomizer {

    @Override
    public void customize(FluentConfiguration configuration) {
        configuration.initSql(Session.settingsStatement());
    }
}
