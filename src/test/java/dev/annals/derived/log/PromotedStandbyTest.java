package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.StandbyPair;
import dev.annals.tools.ops.LogCommands;
import io.vertx.mutiny.sqlclient.Pool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** After the promotion of a standby, a log continues or is halted. It never forks. */
@Slow
@TakesLong
@BesideTheService
@Timeout(300)
class PromotedStandbyTest {

    @TempDir
    Path directory;

    private final UUID project = UUID.randomUUID();
    private final MasterKey key = MasterKey.draw();
    private final List<Pool> pools = new ArrayList<>();
    private StandbyPair servers;

    @BeforeEach
    void startBoth() throws Exception {
        servers = StandbyPair.start(directory, project);
    }

    @AfterEach
    void stopBoth() {
        pools.forEach(pool -> pool.close().await().indefinitely());
        if (servers != null) {
            servers.close();
        }
    }

    @Test
    void aPromotionWithoutLossHaltsTheLogUntilAnOperatorResumesIt() throws Exception {
        append(servers.primary(), 300);
        Checkpoint before = logs(servers.primary(), "one", false).open(project);
        promote();
        append(servers.standby(), 20);
        assertHalted(logs(servers.standby(), "one", false), "a standby was promoted");
        assertHalted(logs(servers.standby(), "other", false), "a standby was promoted");

        assertThat(LogCommands.resume(servers.standby().url("postgres"), project))
                .isZero();
        assertContinues(before, logs(servers.standby(), "one", false));
    }

    @Test
    void aTrustedPromotionContinuesTheLog() throws Exception {
        append(servers.primary(), 300);
        Checkpoint before = logs(servers.primary(), "one", true).open(project);
        promote();
        append(servers.standby(), 20);
        assertContinues(before, logs(servers.standby(), "one", true));
    }

    @Test
    void aPromotionThatLosesASignedTailHaltsTheLogEvenIfTrustedOrResumed() throws Exception {
        append(servers.primary(), 300);
        logs(servers.primary(), "one", true).open(project);
        servers.awaitReplay();
        sql(servers.standby()).runEach("alter system set primary_conninfo = ''", "select pg_reload_conf()");
        Await.until(
                "the standby receives nothing any more",
                () -> sql(servers.standby()).number("select count(*) from pg_stat_wal_receiver") == 0);
        append(servers.primary(), 20);
        assertThat(logs(servers.primary(), "one", true).open(project).size()).isEqualTo(320);
        servers.stopPrimaryAndPromote();
        append(servers.standby(), 50);
        TestLogs after = logs(servers.standby(), "one", true);
        assertHalted(after, "it was set back");
        LogCommands.resume(servers.standby().url("postgres"), project);
        assertHalted(after, "it was set back");
    }

    private void promote() throws Exception {
        servers.awaitReplay();
        servers.stopPrimaryAndPromote();
    }

    private void append(InstalledPostgres server, int count) throws Exception {
        sql(server)
                .run("insert into annals.audit_record (project_id, action) select '" + project
                        + "', 'action ' || n from generate_series(1, " + count + ") as n");
    }

    /** An instance that stores its notes under a name. */
    private TestLogs logs(InstalledPostgres server, String name, boolean trusting) throws Exception {
        Path file = directory.resolve("key-" + name);
        if (!Files.exists(file)) {
            KeyFile.write(file, key);
        }
        Map<String, String> settings = new HashMap<>();
        settings.put("annals.log.key-file", file.toString());
        settings.put("annals.log.trust-promotion", Boolean.toString(trusting));
        Pool pool = new PoolFixture(server.url("postgres"), Map.of()).open(4);
        pools.add(pool);
        return new TestLogs(pool, key, settings);
    }

    private void assertHalted(TestLogs logs, String reason) {
        assertThatThrownBy(() -> logs.newest(project)).hasMessageContaining(reason);
    }

    private void assertContinues(Checkpoint before, TestLogs logs) {
        Checkpoint after = logs.open(project);
        assertThat(after.size()).isEqualTo(before.size() + 20);
        List<Hash> proof = new TreeReader(logs.pool, project)
                .hashes(MerkleTree.consistency(before.size(), after.size()), after.size())
                .await()
                .indefinitely();
        assertThat(MerkleTree.isConsistent(before.size(), before.root(), after.size(), after.root(), proof))
                .isTrue();
    }

    private static SqlFixture sql(InstalledPostgres server) {
        return SqlFixture.on(server.url("postgres"));
    }
}
