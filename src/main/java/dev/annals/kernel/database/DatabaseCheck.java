package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.inject.Instance;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.MigrationInfoService;
import org.flywaydb.core.api.MigrationState;
import org.flywaydb.core.api.output.MigrateResult;
import org.jboss.logging.Logger;

/** Checks the server, the schema and the settings of a database before it is used. */
@ApplicationScoped
public class DatabaseCheck {

    private static final Logger LOG = Logger.getLogger(DatabaseCheck.class);
    private static final Sql CHECK_DATABASE = Sql.named("kernel/database/check_database");
    private static final Sql FORGET_LOST_PRIVILEGES = Sql.named("kernel/database/forget_lost_privileges");
    private static final int OLDEST_POSTGRES = 15;
    private static final int PROJECTS = 1_000;
    private static final int RECORDS = 20;
    private static final int BEFORE_EVERYTHING = 1;

    private final Pool pool;
    private final Databases databases;
    private final Instance<Flyway> flyway;
    private final Members members;
    private final AnnalsConfig.Database config;

    DatabaseCheck(
            @Reads Pool pool, Databases databases, Instance<Flyway> flyway, Members members, AnnalsConfig config) {
        this.pool = pool;
        this.databases = databases;
        this.flyway = flyway;
        this.members = members;
        this.config = config.database();
    }

    /**
     * Connects before Quarkus does, which would surround a failure with a hundred lines of stack traces.
     *
     * @throws IllegalArgumentException if the server cannot be used, with a sentence that says what to do
     */
    public static void requireServer(DatabaseUrl url) {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement();
                ResultSet encoding = statement.executeQuery("show server_encoding")) {
            int version = connection.getMetaData().getDatabaseMajorVersion();
            if (version < OLDEST_POSTGRES) {
                throw new IllegalArgumentException("The database " + url + " is PostgreSQL " + version
                        + "; Annals needs " + OLDEST_POSTGRES + " or newer.");
            }
            encoding.next();
            if (!encoding.getString(1).equals("UTF8")) {
                throw new IllegalArgumentException("The database " + url + " has the encoding " + encoding.getString(1)
                        + "; Annals needs UTF8: create database … encoding 'UTF8' template template0.");
            }
        } catch (SQLException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            String advice = url.wantsTlsOf(e)
                    ? "If the server has no TLS, give it a certificate; or, on a network without listeners, write"
                            + " ?sslmode=disable behind ANNALS_DATABASE_URL."
                    : "Check ANNALS_DATABASE_URL and that the server runs.";
            throw new IllegalArgumentException("The database " + url + " cannot be used (" + cause + "). " + advice, e);
        }
    }

    /** The settings that a login needs in the database behind a pooler that drops startup parameters, besides limits of time. */
    public static Set<String> settingsOfLogin() {
        return Session.SETTINGS.keySet();
    }

    void prepareSchema(@Observes @Priority(BEFORE_EVERYTHING) StartupEvent event) {
        members.prepareSchemas();
        prepareSchema(databases.home().name(), flyway.get(), config.migrateAtStart());
    }

    /** A newer schema stays as it is: its functions serve the previous release, whose instances are replaced one by one. */
    static void prepareSchema(String database, Flyway flyway, boolean migrate) {
        MigrationInfoService info = flyway.info();
        if (Stream.of(info.applied()).anyMatch(migration -> migration.getState() == MigrationState.FUTURE_SUCCESS)) {
            return;
        }
        if (migrate) {
            forgetLostPrivileges(flyway);
            MigrateResult result = flyway.migrate();
            if (result.migrationsExecuted > 0) {
                LOG.infof(
                        "The schema of the database %s is at version %s, after %d migrations",
                        database,
                        Objects.requireNonNullElse(result.targetSchemaVersion, result.initialSchemaVersion),
                        result.migrationsExecuted);
            }
        } else if (info.pending().length > 0) {
            MigrationInfo current = info.current();
            throw new IllegalStateException("The database's schema is at version "
                    + (current == null ? "none" : current.getVersion()) + " and this release needs "
                    + info.pending().length
                    + " more migrations. Run \"migrate\" as its owner, or unset ANNALS_DATABASE_MIGRATE_AT_START.");
        }
    }

    private static void forgetLostPrivileges(Flyway flyway) {
        try (Connection connection = flyway.getConfiguration().getDataSource().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(FORGET_LOST_PRIVILEGES.text());
        } catch (SQLException e) {
            throw new IllegalStateException("The privileges in the database cannot be compared", e);
        }
    }

    /** Refuses to start behind a pooler that drops startup parameters. */
    void requireSession(@Observes @Priority(BEFORE_EVERYTHING + 1) StartupEvent event) {
        try {
            pool.withConnection(connection -> connection.query("select 1").execute())
                    .await()
                    .atMost(config.connectTimeout().multipliedBy(2));
        } catch (UnusableSessionException e) {
            throw new IllegalStateException(e.getMessage(), e);
        } catch (RuntimeException e) {
            LOG.warnf("The database's sessions were not looked at: %s", e);
        }
        members.join();
    }

    void warn(@Observes StartupEvent event) {
        findings().subscribe().with(found -> found.forEach(LOG::warn), failure -> {
            if (!DatabaseFailure.isEnd(failure)) {
                LOG.warnf("The database was not checked: %s", failure);
            }
        });
    }

    /**
     * The faults, each in a sentence that says what to do. Reads only the newest records of the newest projects, so that its
     * time is bounded.
     */
    Uni<List<String>> findings() {
        return CHECK_DATABASE
                .bind("projects", PROJECTS)
                .bind("records", RECORDS)
                .execute(pool)
                .map(rows -> findings(rows.iterator().next()));
    }

    private static List<String> findings(Row row) {
        List<String> findings = new ArrayList<>();
        int prepared = row.getInteger("max_prepared_transactions");
        if (prepared > 0) {
            findings.add("max_prepared_transactions is " + prepared
                    + ": a writer that uses PREPARE TRANSACTION and goes away blocks its project until an operator ends its"
                    + " transaction. Set it to 0, or watch pg_prepared_xacts.");
        }
        long unplaced = row.getLong("unplaced_records");
        UUID project = row.getUUID("unplaced_project");
        if (unplaced > 0) {
            findings.add(unplaced + " records, some of them of project " + project
                    + ", have no place in their feed and will never be read: they were inserted while triggers were off"
                    + " (session_replication_role = replica). Export them, and append them again under new ids.");
        }
        if (row.getBoolean("made_otherwise")) {
            findings.add("The search index was made by a server with other rules for keys. It is rebuilt in the"
                    + " background. Until then, searches are right and slower.");
        }
        return findings;
    }
}
