package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.InstalledPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.stream.Stream;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Instances are replaced one by one under load, after a newer release has migrated the schema: with a migration that does to the
 * busiest tables and functions what migrations may do.
 */
@Slow
@TakesLong
@Timeout(600)
class UpgradeIT {

    private static final String MIGRATES = "ANNALS_DATABASE_MIGRATE_AT_START";

    /** The next schema keeps everything that the release before reads and writes. */
    private static final String NEXT = """
            set lock_timeout = '5s';
            alter table annals.audit_record add column of_the_next_release text;
            alter table annals.append add column of_the_next_release integer;
            create table annals.of_the_next_release (project_id uuid primary key);
            grant select on annals.of_the_next_release to annals_service;
            do $$
            declare
              definition text;
            begin
              for definition in
                select pg_get_functiondef(oid) from pg_proc
                where pronamespace = 'annals'::regnamespace and prokind = 'f'
              loop
                execute definition;
              end loop;
            end
            $$;
            """;

    private static final String FUNCTIONS = "R__10_place_at_commit.sql";

    @TempDir
    Path directory;

    private InstalledPostgres server;
    private DatabaseUrl database;
    private Instances instances;
    private Clients clients;

    @BeforeEach
    void startOldRelease() throws Exception {
        server = InstalledPostgres.start(directory);
        database = server.url("postgres");
        instances = Instances.start(2, Map.of("ANNALS_DATABASE_URL", database.withPassword(), MIGRATES, "true"));
        clients = instances.clients().start(6, 4);
        clients.awaitTold(200);
    }

    @AfterEach
    void stopAll() {
        if (clients != null) {
            clients.close();
        }
        if (instances != null) {
            instances.close();
        }
        if (server != null) {
            server.close();
        }
    }

    @Test
    void noWriteIsRefusedWhileTheSchemaIsMigratedAndTheInstancesAreReplaced() throws Exception {
        clients.measurePause();
        migrateToNextRelease();
        clients.awaitTold(300);
        // A crashed instance of the release before starts again on the newer schema, whether it migrates or not.
        instances.replace(0, Map.of(MIGRATES, "true"));
        clients.awaitTold(100);
        instances.replace(0, Map.of(MIGRATES, "false"));
        clients.awaitTold(300);

        // It left the functions of the newer release alone.
        assertThat(SqlFixture.on(database)
                        .texts("select count(*) from annals.flyway_schema_history where script = '" + FUNCTIONS + "'"))
                .containsExactly("2");

        Verdict verdict = clients.end();
        Survived.note("newer schema, instances replaced", clients, verdict);
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.refusedWrites()).as("%s", clients).isZero();
        assertThat(clients.refusedReads()).as("%s", clients).isZero();
    }

    private void migrateToNextRelease() throws Exception {
        Path migrations = Files.createDirectories(directory.resolve("migrations"));
        try (Stream<Path> files = Files.list(Path.of("src/main/resources/db/migration"))) {
            for (Path file : files.toList()) {
                Files.copy(file, migrations.resolve(file.getFileName()));
            }
        }
        Files.writeString(migrations.resolve("V9999__next_release.sql"), NEXT);
        Files.writeString(migrations.resolve(FUNCTIONS), "-- of the next release", StandardOpenOption.APPEND);
        int applied = Flyway.configure()
                .dataSource(database.jdbcUrl(), database.user(), database.password())
                .schemas("annals")
                .defaultSchema("annals")
                .locations("filesystem:" + migrations)
                .load()
                .migrate()
                .migrationsExecuted;
        assertThat(applied).isEqualTo(2);
    }
}
