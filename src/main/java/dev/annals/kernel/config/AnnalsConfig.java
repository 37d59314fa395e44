package dev.annals.kernel.config;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import dev.annals.kernel.config.ConfigLimits.Texts;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Settings that belong to no feature. */
@ConfigMapping(prefix = "annals")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface AnnalsConfig {

    /** Needed before Quarkus, which makes this configuration, is started. */
    String DEFAULT_DATA_DIR = "./data";

    /** Needed before Quarkus, too. */
    String DEFAULT_PORT = "8080";

    /** Needed before Quarkus, too. */
    String DEFAULT_MANAGEMENT_HOST = "127.0.0.1";

    /** Needed before Quarkus, too. */
    String DEFAULT_MANAGEMENT_PORT = "9000";

    /**
     * The database, PostgreSQL 15 to 18: {@code postgresql://user:password@host:port/database}, optionally with {@code
     * ?sslmode=} and {@code &sslrootcert=}. Several servers that replicate one another are separated by commas ({@code
     * host:port,host:port}, at most 16); the service then uses the one that takes writes, also after a failover, unless {@code
     * &target_session_attrs=} says otherwise. Special characters are percent-encoded, including the dollar sign. The default
     * of {@code sslmode} is {@code require}, or {@code prefer} if all hosts are this machine. The user runs the migrations and
     * needs to own the database and to create roles, unless {@code annals.database.migrate-at-start} is off. Without this
     * setting the service runs its own PostgreSQL in {@link #dataDir()}.
     */
    @Secret
    Optional<String> databaseUrl();

    /** A file with the password, such as container platforms mount, for a {@link #databaseUrl()} without one. */
    Optional<Path> databasePasswordFile();

    /**
     * Hot standbys of the {@link #databaseUrl()}, written as that one is: pages of feeds, long polls, streams and exports are
     * read from them, and everything else from the primary, as are those that a standby is still too far behind for. Of several
     * servers the standbys take turns, unless {@code &target_session_attrs=} says otherwise. A URL without a password has that
     * of the {@link #databaseUrl()}.
     */
    @Secret
    Optional<String> readDatabaseUrl();

    /**
     * Where the service's own PostgreSQL keeps its data: a new or empty directory, or one that it made. Not used with a
     * {@link #databaseUrl()}.
     */
    @WithDefault(DEFAULT_DATA_DIR)
    Path dataDir();

    /**
     * An administrator's token, besides those in the database. Without this setting the first start makes one, and writes it to
     * {@link #firstTokensFile()}. Set it to replace one that was lost.
     */
    @Texts("[!-~]{16,256}")
    @Secret
    Optional<String> adminToken();

    /**
     * Where the first start writes the tokens that it makes, for nobody else to read. Default: the file {@code first-tokens} in
     * {@link #dataDir()}.
     */
    Optional<Path> firstTokensFile();

    /**
     * The URL under which clients reach the service, such as {@code https://audit.example.org}; links begin with it. Without
     * it they begin with what a trusted proxy says in {@code X-Forwarded-Host}, else with the request's own host if that is
     * the loopback, else with the address on which the connection came in.
     */
    @Texts("https?://[^/?#]+(/[^?#]*)?")
    Optional<String> publicUrl();

    /**
     * The proxies whose {@code X-Forwarded-Proto}, {@code -Host}, {@code -Port}, {@code -Prefix} and {@code -For} count:
     * IPv4 addresses, and networks such as {@code 10.0.0.0/8} or {@code ::1/128}, separated by commas. From all others these
     * headers are ignored. To trust no proxy, name an address that none has: {@code 0.0.0.0}. docs/operating.md says how each
     * header is read.
     */
    @WithDefault("127.0.0.1,::1/128")
    @Texts("((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\\.(?=[0-9])|(?=/|$))){4}(/([0-9]|[12][0-9]|3[0-2]))?"
            + "|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*/([0-9]{1,2}|1[01][0-9]|12[0-8])")
    List<String> trustedProxies();

    /** The TCP port of the HTTP API; 0 takes a free one. */
    @WithDefault(DEFAULT_PORT)
    @Min(0)
    @Max(65_535)
    int port();

    /** Where metrics and health details are served: on a port apart from the API's. */
    Management management();

    /** Where metrics and health details are served. */
    @RegisterForReflection(fields = false)
    interface Management {

        /**
         * The address to listen on. By default only this machine can reach it. The images listen on {@code 0.0.0.0}, all
         * addresses of their container; of these only published ones can be reached from elsewhere.
         */
        @WithDefault(DEFAULT_MANAGEMENT_HOST)
        @Texts("[0-9A-Za-z.:_-]{1,255}")
        String host();

        /** The TCP port; 0 takes a free one. */
        @WithDefault(DEFAULT_MANAGEMENT_PORT)
        @Min(0)
        @Max(65_535)
        int port();
    }

    /** Whether the database is the service's own. The service sets this itself. */
    @WithDefault("false")
    boolean embedded();

    /** Limits on the use of the database. */
    Database database();

    /** Limits on the use of the database. */
    @RegisterForReflection(fields = false)
    interface Database {

        /**
         * Whether the service brings the schema up to date when it starts. Turn it off where {@code migrate} has done so, and
         * the URL's user may only become {@code annals_service}.
         */
        @WithDefault("true")
        boolean migrateAtStart();

        /**
         * How many connections the pool for writes has. Besides these, an instance opens those of {@link #readPoolSize()},
         * those of {@code annals.append.writers}, two where requests wait for ids that somebody holds, one for sequences that
         * recycle series, and four while it migrates. The server's {@code max_connections} must be enough for all instances.
         */
        @WithDefault("8")
        @Min(1)
        @Max(1_000)
        int poolSize();

        /**
         * How many connections the pool for reads has. A write that waits for a lock takes none of them. A request that has to
         * wait for one mostly gets it from another thread, which costs a page as much as reading a few records.
         */
        @WithDefault("16")
        @Min(1)
        @Max(1_000)
        int readPoolSize();

        /** How many requests may wait for a connection of each pool; the next one fails at once. */
        @WithDefault("1024")
        @Min(1)
        @Max(100_000)
        int poolQueue();

        /** How long a request waits for a connection of its pool. */
        @WithDefault("10s")
        @Durations(min = "1ms", max = "10M")
        Duration poolWait();

        /** How long a statement or a commit waits for a lock before it fails: PostgreSQL's lock_timeout. */
        @WithDefault("10s")
        @Durations(min = "1ms", max = "10M")
        Duration lockTimeout();

        /** How often to measure how long commits wait for the lock of their feed ({@code annals_feed_lock_wait_seconds}). */
        @WithDefault("5s")
        @Durations(min = "100ms", max = "10M")
        Duration lockWatchInterval();

        /**
         * For how long a session of plain SQL may hold the lock of a feed while others wait for it. The service then ends the
         * session, with an event; with 0 it ends none. The owner of the schema needs rights for that, which the log names; see
         * {@code docs/writing.md}.
         */
        @WithDefault("0s")
        @Durations(min = "0s", max = "1H")
        Duration lockHolderLimit();

        /** How long a statement may run before it is cancelled: PostgreSQL's statement_timeout. */
        @WithDefault("30s")
        @Durations(min = "1ms", max = "1H")
        Duration statementTimeout();

        /**
         * How long a transaction of the service may wait for its next statement before PostgreSQL ends it and releases its
         * locks: idle_in_transaction_session_timeout. Only a frozen instance takes that long.
         */
        @WithDefault("10s")
        @Durations(min = "100ms", max = "10M")
        Duration transactionIdleTimeout();

        /**
         * How much longer than {@link #statementTimeout()} and {@link #lockTimeout()} together the service waits for the
         * answer to a statement. Then the connection counts as lost: it is closed, and what can be repeated is sent again on
         * another one.
         */
        @WithDefault("5s")
        @Durations(min = "1ms", max = "10M")
        Duration answerTimeout();

        /** How long connecting may take, and then again how long the login may take. */
        @WithDefault("5s")
        @Durations(min = "1ms", max = "10M")
        Duration connectTimeout();

        /** How long the database may take to answer before the service says that it is not ready. */
        @WithDefault("5s")
        @Durations(min = "1ms", max = "20s")
        Duration readyTimeout();
    }
}
