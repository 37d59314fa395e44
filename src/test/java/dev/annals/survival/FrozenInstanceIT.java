package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.embedded.InstalledPostgres;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One of two instances stands still, in turn, and goes on as if nothing had happened. */
@Slow
class FrozenInstanceIT {

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

    private static final int FROZEN_SECONDS = 3;

    @Test
    void whatItWasAboutToDoIsStillRight() throws Exception {
        Verdict verdict = RepeatedFault.run("one of two instances frozen for 3 s", 2, clients, times -> {
            instances.freeze(times % 2);
            TimeUnit.SECONDS.sleep(FROZEN_SECONDS);
            clients.measureRecovery();
            instances.thaw(times % 2);
        });

        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
