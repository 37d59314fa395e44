package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * An older dump is restored under the clients, again and again: every reader, who was ahead of it each time, is told so each
 * time, and ends with what is there. {@link RestoreIT} has the other ways to restore.
 */
@Slow
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "RestoreIT has it once")
class RepeatedRestoreIT extends RepeatedFault {

    private static final int LOST = 100;

    private InstalledPostgres server;

    @Override
    void start() throws Exception {
        server = startServer();
        SqlFixture.on(server.url("postgres")).runEach("create database annals");
        startClients(server.url("annals"));
    }

    @Test
    void everyReaderIsToldEachTime() throws Exception {
        Path dump = directory.resolve("annals.dump");
        Verdict verdict = run("older full dump restored", 2, times -> {
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
