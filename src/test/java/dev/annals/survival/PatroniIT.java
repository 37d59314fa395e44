package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.survival.PatroniCluster.Node;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * A cluster under Patroni loses its primary under load: killed, frozen, and by a switchover. {@code .ci/check-failover} brings
 * the programs and runs it; with {@code -Dfailover.all} every fault, otherwise one of the slow ones and a switchover.
 */
@Slow
@Timeout(900)
@EnabledIfSystemProperty(named = "failover.tools", matches = ".+", disabledReason = ".ci/check-failover runs it")
class PatroniIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final int WRITERS = 8;
    private static final int READERS = 6;

    @TempDir
    Path directory;

    private PatroniCluster cluster;
    private ServiceProcess service;

    private void start(boolean synchronous, boolean proxied) throws Exception {
        Path tools = Path.of(Objects.requireNonNull(System.getProperty("failover.tools")));
        cluster = PatroniCluster.start(tools, directory, synchronous);
        DatabaseUrl url = proxied ? cluster.proxied() : cluster.url();
        service = ServiceProcess.start(Map.of("ANNALS_DATABASE_URL", url.withPassword(), "ANNALS_ADMIN_TOKEN", ADMIN))
                .awaitListening();
    }

    @AfterEach
    void stopAll() {
        if (service != null) {
            service.close();
        }
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void synchronousReplicationLosesNothingInAKillAndASwitchover() throws Exception {
        start(true, false);

        assertSound("kill", clients -> kill(clients));
        assertSound("switchover", clients -> switchOver(clients));
    }

    @Test
    @EnabledIfSystemProperty(named = "failover.all", matches = "true")
    void synchronousReplicationLosesNothingInAFreeze() throws Exception {
        start(true, false);

        assertSound("freeze", clients -> freeze(clients));
    }

    @Test
    @EnabledIfSystemProperty(named = "failover.all", matches = "true")
    void synchronousReplicationLosesNothingBehindAProxy() throws Exception {
        start(true, true);

        assertSound("kill, behind HAProxy", clients -> kill(clients));
        assertSound("freeze, behind HAProxy", clients -> freeze(clients));
        assertSound("switchover, behind HAProxy", clients -> switchOver(clients));
    }

    /** Every reader of a lost record learns of the loss. */
    @Test
    @EnabledIfSystemProperty(named = "failover.all", matches = "true")
    void asynchronousReplicationMayLoseTheTailAndEveryReaderOfItIsTold() throws Exception {
        start(false, false);

        Verdict verdict = assertHonest("kill of a primary whose standby is behind, asynchronous", clients -> {
            Node leader = cluster.awaitLeader();
            leader.stopSending();
            clients.awaitTold(100);
            clients.awaitAllRead();
            leader.kill();
            clients.awaitTold(300);
            leader.start();
            assertThat(clients.rewound()).as("%s", clients).isEqualTo(READERS);
        });
        assertThat(verdict.lost()).isGreaterThanOrEqualTo(100);
        assertHonest("freeze, asynchronous", clients -> freeze(clients));
        assertHonest("switchover, asynchronous", clients -> switchOver(clients));
    }

    private interface Fault {
        void happen(Clients clients) throws Exception;
    }

    private void kill(Clients clients) throws Exception {
        Node leader = cluster.awaitLeader();
        leader.kill();
        clients.awaitTold(300);
        leader.start();
    }

    private void freeze(Clients clients) throws Exception {
        Node leader = cluster.awaitLeader();
        leader.freeze();
        clients.awaitTold(300);
        leader.thaw();
        clients.awaitTold(300);
    }

    private void switchOver(Clients clients) throws Exception {
        cluster.switchOver();
        clients.awaitTold(300);
    }

    private void assertSound(String fault, Fault happening) throws Exception {
        Verdict verdict = verdict("Patroni, synchronous: " + fault, happening, true);
        assertThat(verdict.isSound()).as("%s: %s", fault, verdict).isTrue();
    }

    private Verdict assertHonest(String fault, Fault happening) throws Exception {
        Verdict verdict = verdict("Patroni: " + fault, happening, false);
        assertThat(verdict).as(fault).isEqualTo(new Verdict(verdict.told(), verdict.lost(), 0, 0, 0, 0));
        return verdict;
    }

    private Verdict verdict(String fault, Fault happening, boolean synchronous) throws Exception {
        Project project = service.newProject(ADMIN, "read", "write");
        try (Clients clients = new Clients(() -> service.uri(""), project).start(WRITERS, READERS)) {
            clients.awaitTold(500);
            clients.measurePause();
            happening.happen(clients);
            cluster.awaitWhole(synchronous);
            Verdict verdict = clients.end();
            Survived.note(fault, clients, verdict);
            if (synchronous) {
                assertThat(clients.rewound()).as("%s: %s", fault, clients).isZero();
                assertThat(clients.refusedWrites()).as("%s: %s", fault, clients).isZero();
            }
            return verdict;
        }
    }
}
