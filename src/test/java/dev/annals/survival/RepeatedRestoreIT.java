package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.embedded.InstalledPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * An older dump is restored under the clients, again and again: every reader, who was ahead of it each time, is told so each
 * time, and ends with what is there. {@link RestoreIT} has the other ways to restore.
 */
@Slow
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "RestoreIT has it once")
class RepeatedRestoreIT {

    private static final int LOST = 100;

    @TempDir
    Path directory;

    private InstalledPostgres server;
    private Instances instances;
    private Clients clients;

    @BeforeEach
    void startAll() throws Exception {
        server = InstalledPostgres.start(directory);
        SqlFixture.on(server.url("postgres")).runEach("create database annals");
        instances = Instances.start(
                2, Map.of("ANNALS_DATABASE_URL", server.url("annals").withPassword()));
        clients = RepeatedFault.start(instances.clients());
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
    void everyReaderIsToldEachTime() throws Exception {
        Path dump = directory.resolve("annals.dump");
        Verdict verdict = RepeatedFault.run("older full dump restored", 2, clients, times -> {
            Files.deleteIfExists(dump);
            InstalledPostgres.run("pg_dump", "--format=custom", "--file=" + dump, "--dbname=" + server.libpq("annals"));
            clients.awaitTold(LOST);
            clients.awaitAllRead();
            clients.measureRewound();
            clients.measureRecovery();
            SqlFixture.on(server.url("postgres"))
                    .runEach("drop database annals with (force)", "create database annals");
            InstalledPostgres.run("pg_restore", "--dbname=" + server.libpq("annals"), dump.toString());
            clients.awaitAllRewound();
        });

        assertThat(verdict.lost()).as("%s; %s", verdict, clients).isGreaterThanOrEqualTo(LOST);
        assertThat(verdict).isEqualTo(new Verdict(verdict.told(), verdict.lost(), 0, 0, 0, 0));
    }
}
