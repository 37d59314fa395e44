package dev.annals.survival;

import dev.annals.Slow;
import dev.annals.survival.PatroniCluster.Node;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * A cluster under Patroni loses its primary, which comes back as the standby of the other one, and so on. {@link PatroniIT} has
 * it happen once.
 */
@Slow
@EnabledIfSystemProperty(named = "failover.tools", matches = ".+", disabledReason = ".ci/check-failover brings them")
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "PatroniIT has it once")
class RepeatedFailoverIT extends RepeatedFault {

    private static final int RECORDS_AFTER = 100;
    /** Each waits for a minute. */
    private static final int PATIENCE = 5;

    private PatroniCluster cluster;

    @Override
    void start() throws Exception {
        Path tools = Path.of(Objects.requireNonNull(System.getProperty("failover.tools")));
        cluster = closeLater(PatroniCluster.start(tools, directory, true));
        startClients(1, Map.of("ANNALS_DATABASE_URL", cluster.url().withPassword()));
    }

    @Test
    void nothingIsLostInKills() throws Exception {
        assertSoundWhen("Patroni, synchronous: primary's node killed", 1, times -> {
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
        assertSoundWhen("Patroni, synchronous: primary's node frozen, later thawed", 1, times -> {
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
        assertSoundWhen("Patroni, synchronous: switchover", 1, times -> {
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
}
