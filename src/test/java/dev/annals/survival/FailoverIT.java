package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.StandbyPair;
import io.vertx.mutiny.sqlclient.Pool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The URL names both servers, and the standby is promoted: the service, its commands and new instances find the primary by
 * themselves.
 */
@Slow
@TakesLong
@Timeout(600)
class FailoverIT {

    private static final String ADMIN = "a-token-for-administration";

    @TempDir
    Path directory;

    private StandbyPair servers;
    private String url;
    private ServiceProcess service;
    private Project project;
    private Clients clients;

    @BeforeEach
    void startAll() throws Exception {
        servers = StandbyPair.start(directory);
        servers.startStandby();
        url = urlOf(servers.standby(), servers.primary());
        service = start();
        project = service.newProject(ADMIN, "read", "write");
        servers.commitOnBoth();
        clients = new Clients(() -> service.uri(""), project).start(4, 4);
        clients.awaitTold(100);
    }

    /** As libpq reads it; the standby stands first, so that the primary has to be looked for. */
    private static String urlOf(InstalledPostgres first, InstalledPostgres second) {
        return both(first, second).withPassword();
    }

    private static DatabaseUrl both(InstalledPostgres first, InstalledPostgres second) {
        DatabaseUrl one = first.url("postgres");
        List<DatabaseUrl.Server> both = new ArrayList<>(one.servers());
        both.addAll(second.url("postgres").servers());
        return new DatabaseUrl(one.user(), one.password(), both, one.database(), one.parameters());
    }

    private ServiceProcess start() throws Exception {
        return ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        url,
                        "ANNALS_ADMIN_TOKEN",
                        ADMIN,
                        // A statement that is not given up before this hangs for longer than the test may take.
                        "ANNALS_DATABASE_ANSWER_TIMEOUT",
                        "10M"))
                .awaitListening();
    }

    @AfterEach
    void stopAll() {
        if (clients != null) {
            clients.close();
        }
        if (service != null) {
            service.close();
        }
        if (servers != null) {
            servers.close();
        }
    }

    @Test
    void aKilledPrimaryIsLeftForThePromotedStandbyWithoutAnErrorOfAWriter() throws Exception {
        clients.measurePause();
        servers.killPrimary();
        servers.promoteStandby();

        assertSoundBeyond("kill, several hosts");
        assertThat(clients.rewound()).as("%s", clients).isZero();
        // A new instance, whose first host is the old primary, which is gone.
        url = urlOf(servers.primary(), servers.standby());
        try (ServiceProcess other = start()) {
            assertThat(other.newProject(ADMIN, "read").token()).isNotBlank();
        }
    }

    @Test
    void aFrozenPrimaryIsLeftForThePromotedStandbyAndIsNotReturnedToOnceItThaws() throws Exception {
        clients.measurePause();
        servers.primary().freeze();
        servers.promoteStandby();
        clients.awaitTold(200);
        long before = records(servers.standby());
        servers.primary().thaw();

        assertSoundBeyond("freeze, several hosts");
        assertThat(clients.rewound()).as("%s", clients).isZero();
        assertThat(records(servers.standby())).isGreaterThan(before);
        assertThat(service.output).anyMatch(line -> line.contains("The primary of the database is now"));
    }

    /** An instance that connects to it, and did not see it go, finds a primary that seems to be healthy. */
    @Test
    void aPrimaryThatComesBackIsRefusedOnceThePromotedStandbyWasSeen() throws Exception {
        PoolFixture pools = new PoolFixture(both(servers.primary(), servers.standby()), Map.of());
        assertThat(port(pools)).isEqualTo(servers.primary().url("postgres").port());
        servers.killPrimary();
        servers.promoteStandby();
        assertThat(port(pools)).isEqualTo(servers.standby().url("postgres").port());
        servers.primary().start();

        assertThat(port(pools)).isEqualTo(servers.standby().url("postgres").port());
    }

    /** An old primary that answers is not silent, and what runs on it need not end. */
    @Test
    void whatIsOpenToThePrimaryThatWasLeftIsClosedOnceThePromotedStandbyIsSeen() throws Exception {
        PoolFixture pools = new PoolFixture(
                both(servers.primary(), servers.standby()), Map.of("annals.database.statement-timeout", "5M"));
        Pool idle = pools.open(1);
        Pool busy = pools.open(1);
        try {
            assertThat(port(idle)).isEqualTo(servers.primary().url("postgres").port());
            CompletableFuture<?> underWay =
                    busy.query("select pg_sleep(200)").execute().subscribeAsCompletionStage();
            servers.promoteStandby();
            assertThat(port(idle)).isEqualTo(servers.primary().url("postgres").port());
            assertThat(underWay).isNotDone();

            // Otherwise the next pool would go there, too.
            servers.primary().refuseConnections();
            int promoted = servers.standby().url("postgres").port();
            assertThat(port(pools)).isEqualTo(promoted);

            assertThat(port(idle)).isEqualTo(promoted);
            assertThat(underWay).failsWithin(Duration.ofSeconds(5));
        } finally {
            idle.closeAndAwait();
            busy.closeAndAwait();
        }
    }

    /** The port of the server that a new pool connects to. */
    private static int port(PoolFixture pools) {
        Pool pool = pools.open(1);
        try {
            return port(pool);
        } finally {
            pool.closeAndAwait();
        }
    }

    private static int port(Pool pool) {
        return pool.query("select current_setting('port')::integer as port")
                .execute()
                .await()
                .atMost(Duration.ofSeconds(60))
                .iterator()
                .next()
                .getInteger("port");
    }

    private static long records(InstalledPostgres server) throws Exception {
        return Long.parseLong(
                SqlFixture.on(server.url("postgres")).text("select count(*)::text from annals.audit_record"));
    }

    private void assertSoundBeyond(String fault) throws Exception {
        clients.awaitTold(500);
        Verdict verdict = clients.end();
        Survived.note(fault, clients, verdict);
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.refusedWrites()).as("%s", clients).isZero();
    }
}
