package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Verify;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Restored records keep their sequence ids, or the restore is refused; they are never numbered again. */
@BesideTheService
class DumpAndRestoreTest {

    private static final UUID PROJECT = UUID.randomUUID();
    private static final UUID OTHER_PROJECT = UUID.randomUUID();

    @TempDir
    static Path directory;

    private static InstalledPostgres server;
    private static List<String> places;

    @BeforeAll
    static void writeRecordsWhoseCommitOrderIsNotTheirStorageOrder() throws Exception {
        server = InstalledPostgres.start(directory);
        sql("postgres").runEach("create database source");
        TestDatabase.migrate(server.url("source"));
        for (UUID project : List.of(PROJECT, OTHER_PROJECT)) {
            sql("source").run("select annals.create_project('" + project + "', '" + project + "')");
        }
        try (Connection late = server.url("source").connect();
                Connection early = server.url("source").connect()) {
            late.setAutoCommit(false);
            insertSingle(late, PROJECT);
            SqlFixture.insert(late, OTHER_PROJECT, "several");
            insertSingle(early, PROJECT);
            SqlFixture.insert(early, PROJECT, "several");
            sql("source")
                    .run("insert into annals.audit_record (project_id, action) select '" + PROJECT
                            + "', 'many ' || n from generate_series(1, 300) as n");
            late.commit();
        }
        places = places("source");
        assertThat(places).hasSize(304);
    }

    /** The dump contains the project annals and its records. */
    private static final String FORGET_ADMINISTRATION = """
            set session_replication_role = replica;
            truncate annals.project, annals.audit_record, annals.append, annals.feed_segment cascade
            """;

    /** Derived data is derived again. */
    private static final String[] DATA_ALONE = {
        "--data-only",
        "--schema=annals",
        "--exclude-table=annals.flyway_schema_history",
        "--exclude-table=annals.projection*",
        "--exclude-table=annals.daily_*",
        "--exclude-table=annals.search_block",
        "--exclude-table=annals.term"
    };

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void aFullDumpComesBackWithTheSameNumbersAndGoesOnBehindThem() throws Exception {
        Path dump = dump("full");

        restore(0, "restored", dump);

        assertThat(places("restored")).isEqualTo(places);
        assertSound("restored");
        sql("restored").run("insert into annals.audit_record (project_id, action) values ('" + PROJECT + "', 'after')");
        assertThat(places("restored")).hasSize(305).contains(PROJECT + " 304");
        assertSound("restored");
    }

    @Test
    void aDumpOfTheDataAloneComesBackWithTheSameNumbersWhereTriggersAreOff() throws Exception {
        Path dump = dump("data", DATA_ALONE);
        TestDatabase.migrate(create("data_alone"));
        sql("data_alone").run(FORGET_ADMINISTRATION);

        restore(0, "data_alone", dump, "--disable-triggers");

        assertThat(places("data_alone")).isEqualTo(places);
        assertSound("data_alone");
    }

    @Test
    void aDumpOfTheDataAloneIsRefusedWholeWhereTriggersAreOn() throws Exception {
        Path dump = dump("refused", DATA_ALONE);
        TestDatabase.migrate(create("refused"));

        restore(1, "refused", dump, "--single-transaction");

        assertThat(places("refused")).isEmpty();
    }

    @Test
    void aDumpIsNotLoadedOverRecordsThatAreThere() throws Exception {
        Path dump = dump("twice", DATA_ALONE);

        assertThat(InstalledPostgres.exitCode(
                        "pg_restore",
                        "--dbname=" + server.libpq("source"),
                        "--disable-triggers",
                        "--data-only",
                        dump.toString()))
                .isEqualTo(1);

        assertThat(places("source")).isEqualTo(places);
        assertSound("source");
    }

    /** As hosted PostgreSQL asks for, and on a server without the two roles. */
    @Test
    void aDumpRestoredWithoutOwnersAndPrivilegesGetsThePrivilegesAgainWithItsNextMigration() throws Exception {
        Path dump = dump("bare");
        try (InstalledPostgres hosted = InstalledPostgres.start(Files.createDirectory(directory.resolve("hosted")))) {
            SqlFixture.on(hosted.url("postgres")).runEach("create database bare");
            SqlFixture bare = SqlFixture.on(hosted.url("bare"));
            assertThat(InstalledPostgres.exitCode(
                            "pg_restore",
                            "--no-owner",
                            "--no-acl",
                            "--dbname=" + hosted.libpq("bare"),
                            dump.toString()))
                    .isZero();

            migrate(bare);

            assertSound(bare.database());
            for (String lost : List.of(
                    "revoke select on annals.look from annals_service",
                    "revoke usage on schema annals from annals_writer",
                    "revoke insert (message) on annals.audit_record from annals_writer",
                    "revoke execute on function annals.fold(text) from annals_service",
                    "grant execute on function annals.end_move(uuid) to public")) {
                bare.runEach(lost);
                migrate(bare);
                assertSound(bare.database());
            }
            String migrations = "select count(*) from annals.feed where action = 'annals.schema.migrate'";
            assertThat(bare.number(migrations)).isEqualTo(7);
            migrate(bare);
            assertThat(bare.number(migrations)).as("nothing was lost").isEqualTo(7);
        }
    }

    private static void migrate(SqlFixture sql) {
        DatabaseUrl url = sql.database();
        DatabaseCheck.prepareSchema(
                "bare",
                Flyway.configure()
                        .dataSource(url.jdbcUrl(), url.user(), url.password())
                        .schemas("annals")
                        .defaultSchema("annals")
                        .load(),
                true);
    }

    private static Path dump(String name, String... options) throws Exception {
        Path file = directory.resolve(name + ".dump");
        List<String> arguments = new ArrayList<>(List.of(options));
        arguments.addAll(List.of("--format=custom", "--file=" + file, "--dbname=" + server.libpq("source")));
        InstalledPostgres.run("pg_dump", arguments.toArray(String[]::new));
        return file;
    }

    private static void restore(int exitCode, String database, Path dump, String... options) throws Exception {
        if (options.length == 0) {
            create(database);
        }
        List<String> arguments = new ArrayList<>(List.of(options));
        if (options.length > 0) {
            arguments.add("--data-only");
        }
        arguments.addAll(List.of("--dbname=" + server.libpq(database), dump.toString()));
        assertThat(InstalledPostgres.exitCode("pg_restore", arguments.toArray(String[]::new)))
                .isEqualTo(exitCode);
    }

    private static DatabaseUrl create(String database) throws SQLException {
        sql("postgres").runEach("create database " + database);
        return server.url(database);
    }

    /** A record that is its own append, as the service writes one. */
    private static void insertSingle(Connection connection, UUID project) throws SQLException {
        UUID id = UUID.randomUUID();
        SqlFixture.execute(connection, """
                insert into annals.audit_record (project_id, id, placed_with, action)
                values ('%s', '%s', '%s', 'single')
                """.formatted(project, id, id));
    }

    /** The project, sequence id and record of every place; without the record if it was written after the restore. */
    private static List<String> places(String database) throws SQLException {
        return sql(database).texts("""
                select project_id || ' ' || sequence_id || case when action = 'after' then '' else ' ' || id end
                from annals.feed where action not like 'annals.%' order by project_id, sequence_id
                """);
    }

    private static void assertSound(String database) {
        assertSound(server.url(database));
    }

    private static void assertSound(DatabaseUrl database) {
        StringWriter printed = new StringWriter();
        assertThat(new Verify().run(database, new PrintWriter(printed)))
                .as(printed.toString())
                .isZero();
    }

    private static SqlFixture sql(String database) {
        return SqlFixture.on(server.url(database));
    }
}
