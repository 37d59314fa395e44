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
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** The network between the service and its database swallows everything, and forgets the connections that were open. */
@Slow
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "HealedPathIT has it once")
class HalfOpenConnectionsIT {

    @TempDir
    Path directory;

    private InstalledPostgres server;
    private BreakablePath path;
    private Instances instances;
    private Clients clients;

    @BeforeEach
    void startAll() throws Exception {
        server = InstalledPostgres.start(directory);
        path = BreakablePath.to(server.url("postgres"));
        instances = Instances.start(2, Map.of("ANNALS_DATABASE_URL", path.url().withPassword()));
        clients = RepeatedFault.start(instances.clients());
    }

    @AfterEach
    void stopAll() throws Exception {
        if (clients != null) {
            clients.close();
        }
        if (instances != null) {
            instances.close();
        }
        if (path != null) {
            path.close();
        }
        if (server != null) {
            server.close();
        }
    }

    private static final int SWALLOWED_SECONDS = 3;

    @Test
    void connectionsThatNobodyWillAnswerAreGivenUp() throws Exception {
        Verdict verdict =
                RepeatedFault.run("connections to the database half-open, for 3 s and for good", 1, clients, times -> {
                    path.swallow();
                    TimeUnit.SECONDS.sleep(SWALLOWED_SECONDS);
                    clients.measureRecovery();
                    path.heal();
                });

        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
