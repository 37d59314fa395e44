package dev.annals.kernel.database;

import io.smallrye.config.ConfigSourceContext;
import io.smallrye.config.ConfigSourceFactory;
import io.smallrye.config.ConfigValue;
import io.smallrye.config.PropertiesConfigSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.eclipse.microprofile.config.spi.ConfigSource;
import org.jspecify.annotations.Nullable;

/** Derives the settings of Flyway's and the reactive pool's data sources from {@code annals.database-url}, if set. */
public final class DatabaseUrlConfigSource implements ConfigSourceFactory {

    public static final String DATABASE_URL = "annals.database-url";

    /** Above application.properties (250) and below the environment (300), so that settings by hand win. */
    private static final int ORDINAL = 275;

    @Override
    public Iterable<ConfigSource> getConfigSources(ConfigSourceContext context) {
        return DatabaseUrl.read(name -> value(context, name))
                .<Iterable<ConfigSource>>map(
                        url -> List.of(new PropertiesConfigSource(settings(url), DATABASE_URL, ORDINAL)))
                .orElseGet(List::of);
    }

    private static @Nullable String value(ConfigSourceContext context, String name) {
        ConfigValue value = context.getValue(name);
        return value == null ? null : value.getValue();
    }

    @Override
    public OptionalInt getPriority() {
        return OptionalInt.of(ORDINAL);
    }

    static Map<String, String> settings(DatabaseUrl url) {
        Map<String, String> settings = new HashMap<>();
        put(settings, "quarkus.datasource.username", url.user());
        if (!url.password().isEmpty()) {
            put(settings, "quarkus.datasource.password", url.password());
        }
        put(settings, "quarkus.datasource.jdbc.url", url.jdbcUrl());
        put(settings, "quarkus.datasource.reactive.url", String.join(",", url.reactiveUrls()));
        put(settings, "quarkus.datasource.reactive.postgresql.ssl-mode", url.sslMode());
        if (url.sslMode().startsWith("verify-")) {
            put(settings, "quarkus.datasource.reactive.trust-certificate-pem", "true");
            url.sslRootCertificate()
                    .ifPresent(file -> put(settings, "quarkus.datasource.reactive.trust-certificate-pem.certs", file));
        } else {
            // Below verify-ca, libpq encrypts without checking the identity of the server.
            put(settings, "quarkus.datasource.reactive.trust-all", "true");
        }
        if (url.sslMode().equals("verify-full")) {
            put(settings, "quarkus.datasource.reactive.hostname-verification-algorithm", "HTTPS");
        }
        return settings;
    }

    // A dollar sign in a password must not begin an expression.
    private static void put(Map<String, String> settings, String name, String value) {
        settings.put(name, value.replace("$", "\\$"));
    }
}
