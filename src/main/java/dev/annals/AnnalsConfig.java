package dev.annals;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;

/**
 * The settings of the service that belong to no feature. Each can be given in the environment, where {@code
 * annals.database.pool-size} is {@code ANNALS_DATABASE_POOL_SIZE}, as a system property, or in {@code
 * config/application.properties}. A value out of its limits stops the service at start.
 */
@ConfigMapping(prefix = "annals")
public interface AnnalsConfig {

    /** Needed before Quarkus, which makes this configuration, is started. */
    String DEFAULT_DATA_DIR = "./data";

    /**
     * The database: {@code postgresql://user:password@host:port/database}, optionally with {@code ?sslmode=} and
     * {@code &sslrootcert=}; special characters percent-encoded, a dollar sign too. The user runs the
     * migrations, unless {@code annals.database.migrate-at-start} is off. Without it the service runs its own PostgreSQL in
     * {@link #dataDir()}.
     */
    Optional<String> databaseUrl();

    /** Where the service's own PostgreSQL keeps its data. Unused with a {@link #databaseUrl()}. */
    @WithDefault(DEFAULT_DATA_DIR)
    Path dataDir();

    /** The administrator's bearer token. Without it the first start makes one and prints it once. */
    Optional<@Size(min = 16, max = 256) @Pattern(regexp = "[!-~]*") String> adminToken();

    /**
     * The URL under which clients reach the service, such as {@code https://audit.example.org}; links are made from it.
     * Without it, from the request's own host, or from what a trusted proxy says of it.
     */
    Optional<@Pattern(regexp = "https?://[^/?#]+(/[^?#]*)?") String> publicUrl();

    /**
     * The proxies in front of the service whose {@code X-Forwarded-Proto}, {@code -Host}, {@code -Port}, {@code -Prefix}
     * and {@code -For} count: IPv4 addresses, and networks such as {@code 10.0.0.0/8} or {@code ::1/128}, with commas
     * between. From anybody else these headers are ignored. To trust none, name an address that nobody has: {@code
     * 0.0.0.0}.
     */
    // Quarkus takes an IPv6 address without a prefix length for a host name, and asks the DNS at every request.
    @WithDefault("127.0.0.1,::1/128")
    List<@Pattern(regexp = "[0-9.]+(/[0-9]{1,2})?|[0-9A-Fa-f:.]+/[0-9]{1,3}") String> trustedProxies();

    /** The TCP port of the HTTP API; 0 takes a free one. */
    @WithDefault("8080")
    @Min(0)
    @Max(65_535)
    int port();

    /** Whether the database is the service's own. The service sets this itself. */
    @WithDefault("false")
    boolean embedded();

    /** Limits on the use of the database. */
    Database database();

    /** Limits on the use of the database. */
    interface Database {

        /**
         * Whether the service brings the schema up to date when it starts. Off where {@code migrate} does so beforehand, and
         * the URL's user may do no more than become {@code annals_service}.
         */
        @WithDefault("true")
        boolean migrateAtStart();

        /** Connections in the pool. */
        @WithDefault("16")
        @Min(1)
        @Max(1_000)
        int poolSize();

        /** Requests that may wait for a connection of the pool; the next one fails at once. */
        @WithDefault("1024")
        @Min(1)
        @Max(100_000)
        int poolQueue();

        /** How long a request waits for a connection of the pool. */
        @WithDefault("10s")
        @DurationMin(millis = 1)
        @DurationMax(minutes = 10)
        Duration poolWait();

        /** How long a statement, or a commit, waits for a lock, before it fails. PostgreSQL's lock_timeout. */
        @WithDefault("10s")
        @DurationMin(millis = 1)
        @DurationMax(minutes = 10)
        Duration lockTimeout();

        /** How long a statement runs before it is cancelled. PostgreSQL's statement_timeout. */
        @WithDefault("30s")
        @DurationMin(millis = 1)
        @DurationMax(hours = 1)
        Duration statementTimeout();
    }
}
