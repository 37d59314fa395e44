package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.embedded.InstalledPostgres;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One of two instances is killed and started again, in turn. */
@Slow
class KilledInstanceIT {

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
    void nothingOfWhatItHasAnsweredIsLost() throws Exception {
        Verdict verdict =
                RepeatedFault.run("one of two instances killed", 2, clients, times -> instances.crash(times % 2));

        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
