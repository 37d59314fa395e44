package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.embedded.InstalledPostgres;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** The database crashes and is started again. */
@Slow
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "DatabaseOutageIT has it")
class DatabaseCrashIT {

    @TempDir
    Path directory;

    private InstalledPostgres server;
    private Instances instances;
    private Clients clients;

    @BeforeEach
    void startAll() throws Exception {
        server = InstalledPostgres.start(directory);
        instances = Instances.start(
                2, Map.of("ANNALS_DATABASE_URL", server.url("postgres").withPassword()));
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
    void nothingThatItHasCommittedIsLost() throws Exception {
        Verdict verdict = RepeatedFault.run("database killed and started again", 2, clients, times -> server.crash());

        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
