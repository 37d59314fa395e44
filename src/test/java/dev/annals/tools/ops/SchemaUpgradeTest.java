package dev.annals.tools.ops;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A database of a release becomes like a new one, and keeps its records. The migrations of each release are kept in an archive;
 * {@code -Dreleased.write=0.1.0} writes that of a release, which may be written again until the release is out.
 */
@BesideTheService
class SchemaUpgradeTest {

    private static final Path RELEASED = Path.of("src/test/resources/released");
    private static final Path CURRENT = Path.of("src/main/resources/db/migration");

    @TempDir
    Path directory;

    private SqlFixture sql;
    private UUID project;

    static List<Path> releases() throws IOException {
        try (Stream<Path> files = Files.list(RELEASED)) {
            return files.sorted().toList();
        }
    }

    @BeforeAll
    static void keepTheMigrationsOfThisRelease() throws IOException {
        String version = System.getProperty("released.write");
        if (version == null) {
            return;
        }
        try (OutputStream file = Files.newOutputStream(RELEASED.resolve(version + ".zip"));
                ZipOutputStream archive = new ZipOutputStream(file)) {
            for (Map.Entry<String, String> migration : migrations(CURRENT).entrySet()) {
                ZipEntry entry = new ZipEntry(migration.getKey());
                entry.setTime(0);
                archive.putNextEntry(entry);
                archive.write(migration.getValue().getBytes(UTF_8));
            }
        }
    }

    @BeforeEach
    void createDatabase() {
        sql = SqlFixture.on(TestDatabase.createDatabase());
    }

    @ParameterizedTest
    @MethodSource("releases")
    void aDatabaseOfAReleaseBecomesLikeANewOneAndKeepsItsRecords(Path release) throws Exception {
        migrate(sql.database(), migrations(release));
        writeRecords();
        List<String> records = records();

        migrate(sql.database(), migrations(CURRENT));

        assertThat(things(sql.database())).isEqualTo(things(TestDatabase.createMigratedDatabase()));
        assertThat(records()).isEqualTo(records).hasSize(301);
        sql.run("insert into annals.audit_record (project_id, action) values ('" + project + "', 'after')");
        assertThat(records()).hasSize(302).last().asString().startsWith("302 after");
    }

    @Test
    void anEditOfAFunctionReachesADatabaseOfTheReleaseBefore() throws Exception {
        migrate(sql.database(), migrations(CURRENT));
        writeRecords();
        List<String> records = records();
        SortedMap<String, String> next = migrations(CURRENT);
        next.put("V9999__next_release.sql", "alter table annals.append add column of_the_next_release integer");
        next.computeIfPresent("R__20_feed.sql", (name, text) -> text.replace("'role:'", "'login:'") + """
                create or replace function annals.of_the_next_release() returns integer language sql return 1;
                """);

        migrate(sql.database(), next);

        assertThat(records()).isNotEqualTo(records).allMatch(record -> record.contains(" login:"));
        SqlFixture fresh = SqlFixture.on(TestDatabase.createDatabase());
        migrate(fresh.database(), next);
        assertThat(things(sql.database()))
                .isEqualTo(things(fresh.database()))
                .isNotEqualTo(things(TestDatabase.createMigratedDatabase()))
                .noneMatch(thing -> thing.contains("of_the_next_release for public"));
    }

    @Test
    void functionsThatAreMadeTwiceAreTheSame() throws Exception {
        TestDatabase.migrate(sql.database());
        writeRecords();
        List<String> records = records();
        List<String> things = things(sql.database());

        sql.run("delete from annals.flyway_schema_history where version is null and type = 'SQL'");
        TestDatabase.migrate(sql.database());

        assertThat(things(sql.database())).isEqualTo(things);
        assertThat(records()).isEqualTo(records);
    }

    /** An instance of the release before knows by the version that the functions are not its own to bring up to date. */
    @Test
    void aReleaseThatChangesFunctionsHasAVersionOfItsOwn() throws Exception {
        List<Path> releases = releases();
        for (int i = 1; i < releases.size(); i++) {
            SortedMap<String, String> before = migrations(releases.get(i - 1));
            SortedMap<String, String> release = migrations(releases.get(i));
            assertThat(release.equals(before) || version(release) > version(before))
                    .as("%s has new functions and no version", releases.get(i))
                    .isTrue();
        }
    }

    private void writeRecords() throws SQLException {
        project = sql.insertProject();
        sql.run("insert into annals.audit_record (project_id, action) values ('" + project + "', 'single')");
        sql.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'many ' || n from generate_series(1, 300) as n");
    }

    private List<String> records() throws SQLException {
        return sql.texts(
                "select concat_ws(' ', sequence_id, action, id, recorded_at, recorded_by) from annals.feed where project_id = '"
                        + project + "' order by sequence_id");
    }

    /** Everything in the schema, with the texts of views and functions as PostgreSQL writes them. */
    private static List<String> things(DatabaseUrl database) throws SQLException {
        List<String> things = new ArrayList<>();
        try (Connection connection = database.connect()) {
            SqlFixture.execute(connection, "set search_path = pg_catalog");
            things.addAll(ShippedSchema.read(connection));
        }
        things.addAll(SqlFixture.on(database).texts("""
                select pg_get_functiondef(oid) from pg_proc where pronamespace = 'annals'::regnamespace
                union all
                select relname || pg_get_viewdef(oid) from pg_class where relnamespace = 'annals'::regnamespace and relkind = 'v'
                order by 1
                """));
        return things;
    }

    private void migrate(DatabaseUrl database, Map<String, String> migrations) throws IOException {
        Path folder = Files.createTempDirectory(directory, "migrations");
        for (Map.Entry<String, String> migration : migrations.entrySet()) {
            Files.writeString(folder.resolve(migration.getKey()), migration.getValue());
        }
        Flyway.configure()
                .dataSource(database.jdbcUrl(), database.user(), database.password())
                .schemas("annals")
                .locations("filesystem:" + folder)
                .ignoreMigrationPatterns("repeatable:missing")
                .load()
                .migrate();
    }

    private static int version(SortedMap<String, String> migrations) {
        return migrations.keySet().stream()
                .filter(name -> name.startsWith("V"))
                .mapToInt(name -> Integer.parseInt(name.substring(1, name.indexOf('_'))))
                .max()
                .orElseThrow();
    }

    /** The texts of migrations by their names: of a release, or the current ones. */
    private static SortedMap<String, String> migrations(Path place) throws IOException {
        SortedMap<String, String> migrations = new TreeMap<>();
        if (Files.isDirectory(place)) {
            try (Stream<Path> files = Files.list(place)) {
                for (Path file : files.collect(Collectors.toList())) {
                    migrations.put(file.getFileName().toString(), Files.readString(file));
                }
            }
            return migrations;
        }
        try (ZipFile archive = new ZipFile(place.toFile())) {
            for (ZipEntry entry : archive.stream().toList()) {
                migrations.put(
                        entry.getName(),
                        new String(archive.getInputStream(entry).readAllBytes(), UTF_8));
            }
        }
        return migrations;
    }
}
