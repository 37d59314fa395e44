package dev.annals.survival;

import static dev.annals.survival.ManyDatabases.HOME;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.survival.PatroniCluster.Node;
import dev.annals.survival.StepGate.Step;
import dev.annals.tools.embedded.TestServer;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * A project moves out of a cluster under Patroni and back, while it is written and read. The cluster loses its primary before
 * a step of the move commits. {@code .ci/check-failover} runs it.
 */
@Slow
@Timeout(900)
@EnabledIfSystemProperty(named = "failover.tools", matches = ".+", disabledReason = ".ci/check-failover runs it")
class MovedUnderPatroniIT {

    private static final String MEMBER = "east";
    private static final int INSTANCES = 2;
    private static final int WRITERS = 4;
    private static final int READERS = 4;
    private static final int RECORDS_BETWEEN = 100;

    @TempDir
    Path directory;

    private PatroniCluster cluster;
    private TestServer server;
    private Map<String, DatabaseUrl> urls = Map.of();
    private Map<String, String> settings = Map.of();
    private Instances instances;
    private MoveRequests requests;
    private Project project;
    private Clients clients;
    /** The database that has the project. */
    private String at = "";

    private enum Fault {
        KILL,
        SWITCHOVER
    }

    /** @param ofCluster the name of the database that is the cluster, where the project begins */
    private void start(String ofCluster) throws Exception {
        Path tools = Path.of(Objects.requireNonNull(System.getProperty("failover.tools")));
        server = TestServer.start();
        cluster = PatroniCluster.start(tools, directory, true);
        urls = Map.of(ofCluster, cluster.url(), ofCluster.equals(HOME) ? MEMBER : HOME, server.url());
        settings = Map.of(
                "ANNALS_DATABASES",
                HOME + "," + MEMBER,
                "ANNALS_DATABASE_URL",
                url(HOME).withPassword(),
                "ANNALS_DATABASES_EAST_URL",
                url(MEMBER).withPassword(),
                "ANNALS_LOG_KEY",
                AuditLogFixture.LOG_KEY);
        instances = Instances.start(INSTANCES, settings);
        for (int i = 0; i < INSTANCES; i++) {
            awaitMember(instances.get(i));
        }
        StepGate.install(url(HOME));
        StepGate.install(url(MEMBER));
        requests = new MoveRequests(instances::uri);
        UUID id = requests.newProject(ofCluster);
        project = instances.get(0).newToken(Instances.ADMIN, id, "read", "write");
        at = ofCluster;
        clients = new Clients(instances::uri, project).start(WRITERS, READERS).awaitTold(RECORDS_BETWEEN);
    }

    private DatabaseUrl url(String name) {
        return Objects.requireNonNull(urls.get(name));
    }

    private static void awaitMember(ServiceProcess instance) throws Exception {
        HttpRequest health =
                HttpRequest.newBuilder(instance.managementUri("/q/health")).build();
        HttpClient http = HttpClient.newHttpClient();
        Await.until(
                MEMBER + " is used",
                () -> http.send(health, BodyHandlers.ofString())
                        .body()
                        .contains("\"" + MEMBER + "\": \"reads and writes\""));
    }

    @AfterEach
    void stop() {
        if (clients != null) {
            clients.close();
        }
        if (instances != null) {
            instances.close();
        }
        if (cluster != null) {
            cluster.close();
        }
        if (server != null) {
            server.close();
        }
    }

    @Test
    void aProjectMovesOutOfAndIntoAHomeThatFailsOver() throws Exception {
        start(HOME);

        move(MEMBER, Step.SEALED, Fault.KILL);
        move(HOME, Step.COPYING, Fault.SWITCHOVER);
        move(MEMBER, Step.SWITCHED, Fault.KILL);
        move(HOME, Step.OPENED, Fault.KILL);
        requireSound();
    }

    @Test
    @EnabledIfSystemProperty(named = "failover.all", matches = "true")
    void aProjectMovesOutOfAndIntoAMemberThatFailsOver() throws Exception {
        start(MEMBER);

        move(HOME, Step.SEALED, Fault.KILL);
        move(MEMBER, Step.COPYING, Fault.KILL);
        move(HOME, Step.LEFT, Fault.SWITCHOVER);
        move(MEMBER, Step.OPENED, Fault.KILL);
        requireSound();
    }

    /** The cluster loses its primary while a mover waits before the commit of a step. */
    private void move(String target, Step step, Fault fault) throws Exception {
        String name = "Patroni, synchronous: " + fault + " before " + step + " of a move to " + target;
        clients.measurePause();
        int before = clients.told();
        Node leader = cluster.awaitLeader();
        try (StepGate gate = new StepGate(step, url(step.of(at, target)))) {
            requests.begin(project.id(), target);
            gate.awaitMover(this::situation);
            if (fault == Fault.KILL) {
                leader.kill();
            } else {
                cluster.switchOver();
            }
        }
        assertThat(requests.awaitEnd(project.id(), this::situation)).as(name).isEqualTo("moved");
        clients.awaitTold(clients.told() - before + RECORDS_BETWEEN);
        if (fault == Fault.KILL) {
            leader.start();
        }
        cluster.awaitWhole(true);
        SqlFixture.on(url(at)).removeLeft(project.id());
        at = target;
        System.out.printf("%s: %d records meanwhile; %s%n", name, clients.told() - before, clients);
    }

    private String situation() {
        StringBuilder situation = new StringBuilder(clients.toString());
        for (int i = 0; i < INSTANCES; i++) {
            List<String> lines = instances.get(i).output.stream()
                    .filter(line -> !line.contains(" INFO "))
                    .toList();
            situation.append("\ninstance ").append(i).append(":\n");
            situation.append(String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size())));
        }
        return situation.toString();
    }

    private void requireSound() throws Exception {
        Verdict verdict = clients.end();
        Survived.note("Patroni, synchronous: failovers between two steps of moves", clients, verdict);
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
        // Answers 421. A 409 ends a writer.
        assertThat(clients.unexplained()).isEmpty();
        for (String name : List.of(HOME, MEMBER)) {
            try (Connection owner = url(name).connect()) {
                assertThat(SqlFixture.texts(owner, "select annals.administration_differences()"))
                        .isEmpty();
                SqlFixture.execute(owner, "drop schema gate cascade");
            }
        }
        try (ServiceProcess verify = ServiceProcess.start(settings, "verify")) {
            assertThat(verify.awaitEnd()).as("%s", verify.output).isZero();
            assertThat(verify.output).last().asString().startsWith("Sound: ");
        }
    }
}
