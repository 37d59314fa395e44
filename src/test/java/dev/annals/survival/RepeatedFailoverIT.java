package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.survival.PatroniCluster.Node;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * A cluster under Patroni loses its primary, which comes back as the standby of the other one, and so on. {@link PatroniIT} has
 * it happen once.
 */
@Slow
@EnabledIfSystemProperty(named = "failover.tools", matches = ".+", disabledReason = ".ci/check-failover brings them")
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "PatroniIT has it once")
class RepeatedFailoverIT {

    private static final int RECORDS_AFTER = 100;
    /** Each waits for a minute. */
    private static final int PATIENCE = 5;

    @TempDir
    Path directory;

    private PatroniCluster cluster;
    private Instances instances;
    private Clients clients;

    @BeforeEach
    void startAll() throws Exception {
        Path tools = Path.of(Objects.requireNonNull(System.getProperty("failover.tools")));
        cluster = PatroniCluster.start(tools, directory, true);
        instances =
                Instances.start(1, Map.of("ANNALS_DATABASE_URL", cluster.url().withPassword()));
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
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void nothingIsLostInKills() throws Exception {
        assertSound("Patroni, synchronous: primary's node killed", times -> {
            Node leader = cluster.awaitLeader();
            leader.kill();
            // Not before: some writer was always answered until all of its processes were gone.
            clients.measureRecovery();
            clients.awaitTold(RECORDS_AFTER);
            leader.start();
            awaitWhole();
        });
    }

    @Test
    void nothingIsLostInFreezes() throws Exception {
        assertSound("Patroni, synchronous: primary's node frozen, later thawed", times -> {
            Node leader = cluster.awaitLeader();
            leader.freeze();
            // Not before: some writer was always answered until all of its processes were gone.
            clients.measureRecovery();
            clients.awaitTold(RECORDS_AFTER);
            leader.thaw();
            clients.awaitTold(RECORDS_AFTER);
            awaitWhole();
        });
    }

    @Test
    void nothingIsLostInSwitchovers() throws Exception {
        assertSound("Patroni, synchronous: switchover", times -> {
            cluster.switchOver();
            clients.awaitTold(RECORDS_AFTER);
            awaitWhole();
        });
    }

    /** However busy the machine is meanwhile. */
    private void awaitWhole() throws Exception {
        for (int waited = 1; ; waited++) {
            try {
                cluster.awaitWhole(true);
                return;
            } catch (AssertionError | IOException e) {
                if (waited == PATIENCE) {
                    throw e;
                }
            }
        }
    }

    private void assertSound(String fault, RepeatedFault.Fault happening) throws Exception {
        Verdict verdict = RepeatedFault.run(fault, 1, clients, happening);
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
