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

/** The connections between the service and its database break, and new ones can be made at once. */
@Slow
class CutConnectionsIT {

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

    @Test
    void whatWasUnderWayIsRepeated() throws Exception {
        Verdict verdict = RepeatedFault.run("connections to the database cut", 3, clients, times -> path.cut());

        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
