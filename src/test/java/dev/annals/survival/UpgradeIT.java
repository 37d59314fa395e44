package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.database.DatabaseUrl;
import dev.annals.embedded.InstalledPostgres;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
@Timeout(600)
class UpgradeIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final Path MANIFEST = Path.of("docker/kubernetes/deployment.yaml");

    /** What the release before reads and writes is still there. */
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

    @TempDir
    Path directory;

    private final List<ServiceProcess> serving = new CopyOnWriteArrayList<>();
    private final AtomicInteger next = new AtomicInteger();
    private InstalledPostgres server;
    private DatabaseUrl database;
    private Clients clients;

    @BeforeEach
    void startOldRelease() throws Exception {
        server = InstalledPostgres.start(directory);
        database = server.url("postgres");
        serving.add(start("true"));
        serving.add(start("true"));
        Project project = serving.get(0).newProject(ADMIN, "read", "write");
        clients = new Clients(this::uri, project).start(6, 4);
        clients.awaitTold(200);
    }

    /** Of one instance after the other, as a proxy does it. */
    private URI uri() {
        List<ServiceProcess> all = List.copyOf(serving);
        return all.get(Math.floorMod(next.getAndIncrement(), all.size())).uri("");
    }

    private ServiceProcess start(String migrates) throws Exception {
        return ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        database.withPassword(),
                        "ANNALS_DATABASE_MIGRATE_AT_START",
                        migrates,
                        "ANNALS_ADMIN_TOKEN",
                        ADMIN))
                .awaitListening();
    }

    @AfterEach
    void stopAll() {
        if (clients != null) {
            clients.close();
        }
        serving.forEach(ServiceProcess::close);
        if (server != null) {
            server.close();
        }
    }

    @Test
    void noWriteIsRefusedWhileTheSchemaIsMigratedAndTheInstancesAreReplaced() throws Exception {
        clients.measurePause();
        migrateToNextRelease();
        clients.awaitTold(300);
        // Of the release before, one that crashed comes back on the newer schema, whether it migrates or not.
        replace(0, "true");
        replace(0, "false");
        clients.awaitTold(300);

        Verdict verdict = clients.end();
        Survived.note("newer schema, instances replaced", clients, verdict);
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.refusedWrites()).as("%s", clients).isZero();
        assertThat(clients.refusedReads()).as("%s", clients).isZero();
    }

    private void migrateToNextRelease() throws Exception {
        Path migrations = Files.createDirectories(directory.resolve("migrations"));
        Files.writeString(migrations.resolve("V9999__next_release.sql"), NEXT);
        int applied = Flyway.configure()
                .dataSource(database.jdbcUrl(), database.user(), database.password())
                .schemas("annals")
                .defaultSchema("annals")
                .locations("classpath:db/migration", "filesystem:" + migrations)
                .load()
                .migrate()
                .migrationsExecuted;
        assertThat(applied).isEqualTo(1);
    }

    /**
     * As docker/kubernetes/deployment.yaml has it done: the new one says that it has started and is ready, the old one is taken out
     * of the proxy while it still answers, is told to stop after the pause, and has to end within what is left of the time that it
     * is given.
     */
    private void replace(int index, String migrates) throws Exception {
        ServiceProcess started = start(migrates);
        awaitProbe(started, "startupProbe");
        awaitProbe(started, "readinessProbe");
        serving.add(started);
        ServiceProcess old = serving.remove(index);
        int pause = manifestNumber("preStop:.*?seconds");
        TimeUnit.SECONDS.sleep(pause);
        assertThat(probe(old, "livenessProbe")).isEqualTo(200);
        long told = System.nanoTime();
        old.process().destroy();
        assertThat(old.awaitEnd()).isIn(0, 143);
        assertThat(Duration.ofNanos(System.nanoTime() - told))
                .isLessThan(Duration.ofSeconds(manifestNumber("terminationGracePeriodSeconds") - pause));
        clients.awaitTold(100);
    }

    private static void awaitProbe(ServiceProcess service, String name) throws Exception {
        Await.until(name, () -> probe(service, name) == 200);
    }

    private static int probe(ServiceProcess service, String name) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri(inManifest(name + ":.*?path: (\\S+)")))
                .timeout(Duration.ofSeconds(5))
                .build();
        return HttpClient.newHttpClient()
                .send(request, BodyHandlers.discarding())
                .statusCode();
    }

    private static int manifestNumber(String key) throws IOException {
        return Integer.parseInt(inManifest(key + ": (\\d+)"));
    }

    private static String inManifest(String pattern) throws IOException {
        Matcher found = Pattern.compile(pattern, Pattern.DOTALL).matcher(Files.readString(MANIFEST));
        assertThat(found.find()).as("%s in %s", pattern, MANIFEST).isTrue();
        return found.group(1);
    }
}
