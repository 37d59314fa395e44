package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.StandbyPair;
import dev.annals.tools.ops.Verify;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A hot standby always shows a prefix of each feed. */
@BesideTheService
@Timeout(300)
class HotStandbyTest {

    private static final int WRITERS = 4;
    private static final int TRANSACTIONS = Load.times(20, 60);
    private static final int PREFIXES = 5;

    @TempDir
    Path directory;

    private final UUID project = UUID.randomUUID();
    private final CountDownLatch severalSeen = new CountDownLatch(1);
    private StandbyPair servers;

    @BeforeEach
    void startBoth() throws Exception {
        servers = StandbyPair.start(directory, project);
    }

    @AfterEach
    void stopBoth() {
        if (servers != null) {
            servers.close();
        }
    }

    @Test
    void aStandbyShowsAPrefixOfTheFeedAtEveryMomentAndGoesOnBehindItOncePromoted() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(WRITERS);
        List<Future<?>> writers = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            int number = writer;
            writers.add(threads.submit(() -> write(number)));
        }
        List<UUID> seen = List.of();
        Set<Integer> lengths = new HashSet<>();
        try (Connection connection = servers.standby().url("postgres").connect()) {
            while (!writers.stream().allMatch(Future::isDone)) {
                List<UUID> now = feed(connection);
                assertThat(now).hasSizeGreaterThanOrEqualTo(seen.size());
                assertThat(now.subList(0, seen.size())).isEqualTo(seen);
                seen = now;
                lengths.add(now.size());
                if (lengths.size() >= PREFIXES) {
                    severalSeen.countDown();
                }
            }
            for (Future<?> writer : writers) {
                writer.get();
            }
            threads.shutdown();
            servers.awaitReplay();
            seen = feed(connection);
        }
        try (Connection connection = servers.primary().url("postgres").connect()) {
            assertThat(feed(connection)).isEqualTo(seen);
        }
        assertThatThrownBy(() -> sql(servers.standby()).run(insert("on the standby")))
                .hasMessageContaining("read-only");
        assertSound(servers.standby());

        servers.stopPrimaryAndPromote();
        sql(servers.standby()).run(insert("on the new primary"));

        try (Connection connection = servers.standby().url("postgres").connect()) {
            assertThat(feed(connection)).hasSize(seen.size() + 1).startsWith(seen.toArray(UUID[]::new));
        }
        assertSound(servers.standby());
    }

    /** Commits and rolls back transactions of several sizes, until the standby has been seen at several lengths. */
    private Void write(int writer) throws SQLException {
        try (Connection connection = servers.primary().url("postgres").connect()) {
            connection.setAutoCommit(false);
            for (int n = 0; n < TRANSACTIONS || severalSeen.getCount() > 0; n++) {
                for (int record = 0; record <= (writer + n) % 5; record++) {
                    SqlFixture.insert(connection, project, "writer " + writer);
                }
                if (n % 7 == 0) {
                    connection.rollback();
                } else {
                    connection.commit();
                }
            }
        }
        return null;
    }

    /** The records in the order of their sequence ids, which must be 1 to n. */
    private List<UUID> feed(Connection connection) throws SQLException {
        List<UUID> ids = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select sequence_id, id from annals.feed where project_id = '"
                        + project + "' order by sequence_id")) {
            while (rows.next()) {
                ids.add(rows.getObject(2, UUID.class));
                assertThat(rows.getLong(1)).isEqualTo(ids.size());
            }
        }
        return ids;
    }

    private static SqlFixture sql(InstalledPostgres server) {
        return SqlFixture.on(server.url("postgres"));
    }

    private String insert(String action) {
        return "insert into annals.audit_record (project_id, action) values ('" + project + "', '" + action + "')";
    }

    private static void assertSound(InstalledPostgres server) {
        StringWriter printed = new StringWriter();
        assertThat(new Verify().run(server.url("postgres"), new PrintWriter(printed)))
                .as(printed.toString())
                .isZero();
    }
}
