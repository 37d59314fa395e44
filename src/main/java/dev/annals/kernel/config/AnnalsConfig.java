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
     * PostgreSQL 15 to 18: {@code postgresql://user:password@host:port/database}, optionally with {@code ?sslmode=} (default: {@code require}, or {@code prefer} on this machine) and {@code &sslrootcert=}. Up to 16 servers that replicate one another are separated by commas; the service uses the one that takes writes. Special characters are percent-encoded. Default: a PostgreSQL of the service's own, in {@link #dataDir()}.
     *
     * <p>With {@code &target_session_attrs=} another server is chosen. The dollar sign, too, is percent-encoded. The user runs the migrations and needs to own the database and to create roles, unless {@code annals.database.migrate-at-start} is off.
     */
    @Secret
    Optional<String> databaseUrl();

    /** A file with the password, for a {@link #databaseUrl()} without one. */
    Optional<Path> databasePasswordFile();

    /**
     * Hot standbys, written like {@link #databaseUrl()}: feeds are read from them while they are close enough behind.
     *
     * <p>Pages of feeds, long polls, streams and exports are read from them, and everything else from the primary. Of several servers the standbys take turns, unless {@code &target_session_attrs=} says otherwise. A URL without a password has that of the {@link #databaseUrl()}.
     */
    @Secret
    Optional<String> readDatabaseUrl();

    /**
     * The names of the service's databases, home first ([how](growing.md)).
     *
     * <p>Home is the database of {@link #databaseUrl()}. Each other, such as {@code east}, has {@code ANNALS_DATABASES_EAST_URL}, {@code ANNALS_DATABASES_EAST_PASSWORD_FILE} and {@code ANNALS_DATABASES_EAST_READ_URL}, written like those of home. {@code ANNALS_DATABASES_EAST_PINNED=true} keeps its projects there, and others out. {@code ANNALS_DATABASES_EAST_TRUSTED=true} lets its [streams](streaming.md#projects-in-members) reach private addresses and use the service's own identity. Without a URL, it is a PostgreSQL of the service's own, in the directory {@code east} of {@link #dataDir()}.
     */
    @WithDefault("main")
    List<String> databases();

    /** The directory of the service's own PostgreSQL: new, empty, or made by it. */
    @WithDefault(DEFAULT_DATA_DIR)
    Path dataDir();

    /**
     * An administrator's token besides those in the database. Default: the first start makes one.
     *
     * <p>It replaces one that was lost. Without it, the first start writes one to {@link #firstTokensFile()}.
     */
    @Texts("[!-~]{16,256}")
    @Secret
    Optional<String> adminToken();

    /** A file with the token, in place of {@link #adminToken()}. */
    Optional<Path> adminTokenFile();

    /** The file to which the first start writes its tokens. Default: {@code first-tokens} in {@link #dataDir()}. */
    Optional<Path> firstTokensFile();

    /**
     * The URL under which clients reach the service; links begin with it. Default: what the request says, as far as proxies are trusted.
     *
     * <p>Without it links begin with what a trusted proxy says in {@code X-Forwarded-Host}, else with the request's own host if that is the loopback, else with the address on which the connection came in.
     */
    @Texts("https?://[^/?#]+(/[^?#]*)?")
    Optional<String> publicUrl();

    /** The addresses and networks of proxies whose {@code X-Forwarded-} headers count ([how](operating.md)); {@code 0.0.0.0} for none. */
    @WithDefault("127.0.0.1,::1/128")
    @Texts("((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\\.(?=[0-9])|(?=/|$))){4}(/([0-9]|[12][0-9]|3[0-2]))?"
            + "|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*/([0-9]{1,2}|1[01][0-9]|12[0-8])")
    List<String> trustedProxies();

    /** The TCP port of the HTTP API; 0 takes a free one. */
    @WithDefault(DEFAULT_PORT)
    @Min(0)
    @Max(65_535)
    int port();

    /** The port of metrics and health details. */
    Management management();

    /** The port of metrics and health details. */
    @RegisterForReflection(fields = false)
    interface Management {

        /** The address to listen on for metrics and health details. The images listen on {@code 0.0.0.0}. */
        @WithDefault(DEFAULT_MANAGEMENT_HOST)
        @Texts("[0-9A-Za-z.:_-]{1,255}")
        String host();

        /** The TCP port; 0 takes a free one. */
        @WithDefault(DEFAULT_MANAGEMENT_PORT)
        @Min(0)
        @Max(65_535)
        int port();
    }

    /** Limits on the use of the database. */
    Database database();

    /** Limits on the use of the database. */
    @RegisterForReflection(fields = false)
    interface Database {

        /** Whether the start brings the schema up to date. Turn it off if {@code migrate} does, and the URL's user may only become {@code annals_service}. */
        @WithDefault("true")
        boolean migrateAtStart();

        /**
         * Connections for writes. An instance opens, besides, {@link #readPoolSize()}, {@code annals.append.writers}, and up to 15 for its own tasks.
         *
         * <p>15: eight for tokens and loops, two where requests wait for ids that open transactions hold, one for sequences that recycle series, and four while it migrates. The server's {@code max_connections} must be enough for all instances.
         */
        @WithDefault("8")
        @Min(1)
        @Max(1_000)
        int poolSize();

        /** Connections for reads. One project uses at most half of them. */
        @WithDefault("16")
        @Min(1)
        @Max(1_000)
        int readPoolSize();

        /** The longest wait of a request for a connection of its pool. */
        @WithDefault("10s")
        @Durations(min = "1ms", max = "10M")
        Duration poolWait();

        /** The longest wait of a statement or a commit for a lock, before it fails. */
        @WithDefault("10s")
        @Durations(min = "1ms", max = "10M")
        Duration lockTimeout();

        /**
         * The longest time that a session of plain SQL may hold the lock of a feed while others wait for it ([how](writing.md)); 0 for no limit.
         *
         * <p>The service then ends the session, with an event. The owner of the schema needs rights for that, which the log names.
         */
        @WithDefault("0s")
        @Durations(min = "0s", max = "1H")
        Duration lockHolderLimit();

        /** The longest time of a statement, before it is cancelled. */
        @WithDefault("30s")
        @Durations(min = "1ms", max = "1H")
        Duration statementTimeout();

        /** The time beyond {@link #statementTimeout()} and {@link #lockTimeout()} together after which a connection without an answer counts as lost. */
        @WithDefault("5s")
        @Durations(min = "1ms", max = "10M")
        Duration answerTimeout();

        /** The longest time to connect, then to log in, and to answer a check of the service's readiness. */
        @WithDefault("5s")
        @Durations(min = "1ms", max = "10M")
        Duration connectTimeout();
    }
}
