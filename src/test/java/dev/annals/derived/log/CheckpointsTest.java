package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.Note;
import dev.annals.tools.ops.LogCommands;
import io.vertx.mutiny.sqlclient.Pool;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A signed log continues or halts, whatever happens to the database. It never forks. */
@BesideTheService
class CheckpointsTest {

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final PoolFixture connections = new PoolFixture(log.database(), Map.of());
    private final Random random = new Random(20260202);
    private final MasterKey key = MasterKey.draw();
    private final List<Pool> pools = new ArrayList<>();
    private UUID project;

    @TempDir
    Path directory;

    @BeforeEach
    void makeProject() throws SQLException {
        project = log.insertProject();
    }

    @AfterEach
    void close() {
        pools.forEach(pool -> pool.close().await().indefinitely());
    }

    @Test
    void aCheckpointHasAllRecordsThatWereCommitted() throws Exception {
        TestLogs logs = logs();
        assertThat(logs.open(project)).isEqualTo(new Checkpoint(logs.keys.origin(project, 1), 0, Hash.EMPTY_TREE));
        append(300);
        Checkpoint first = logs.open(project);
        assertThat(first.size()).isEqualTo(300);
        assertThat(logs.newest(project).note()).isEqualTo(logs.newest(project).note());
        append(1);
        assertThat(logs.open(project).size()).isEqualTo(301);
        assertContinues(logs, first, logs.open(project));
    }

    @Test
    void anOlderSizeIsSignedAsItWasThen() throws Exception {
        TestLogs logs = logs();
        append(300);
        SignedLog then = logs.newest(project);
        append(500);
        logs.newest(project);
        TestLogs restarted = logs();
        SignedLog now = restarted.checkpoints.at(project, 300).await().indefinitely();
        assertThat(now.note()).isEqualTo(then.note());
        SetBack.assertProblem(
                ProblemType.LOG_BEHIND,
                () -> restarted.checkpoints.at(project, 801).await().indefinitely());
    }

    /** They sign at once, while the tree grows and connections are killed. */
    @Test
    void severalInstancesSignOneTree() throws Exception {
        int instances = 3;
        List<Checkpoint> signed = Collections.synchronizedList(new ArrayList<>());
        ExecutorService threads = Executors.newFixedThreadPool(instances);
        List<TestLogs> all = new ArrayList<>();
        for (int i = 0; i < instances; i++) {
            all.add(withFile("instance-" + i));
        }
        List<Future<?>> ends = new ArrayList<>();
        for (TestLogs logs : all) {
            ends.add(threads.submit(() -> {
                for (int i = 0; i < Load.times(12, 300); i++) {
                    append(random.nextInt(1, 40));
                    signed.add(logs.open(project));
                }
                return null;
            }));
        }
        for (Future<?> end : ends) {
            end.get(120, TimeUnit.SECONDS);
        }
        threads.shutdown();
        log.checkFeed(project);
        List<Checkpoint> inOrder = signed.stream()
                .distinct()
                .sorted(Comparator.comparing(Checkpoint::size))
                .toList();
        assertThat(inOrder).hasSizeGreaterThan(instances);
        for (int i = 1; i < inOrder.size(); i++) {
            assertContinues(all.get(0), inOrder.get(i - 1), inOrder.get(i));
        }
    }

    @Test
    void bothKeysSignWhileOneIsReplaced() throws Exception {
        append(10);
        TestLogs old = logs();
        SignedLog before = old.newest(project);
        Path previous = write("previous", key);
        Path next = write("next", MasterKey.draw());
        TestLogs both = new TestLogs(
                pool(),
                key,
                Map.of("annals.log.key-file", next.toString(), "annals.log.previous-key-file", previous.toString()));
        SignedLog during = both.newest(project);
        assertThat(Note.parse(during.note()).signatures()).hasSize(2);
        assertThat(Checkpoint.open(during.note(), old.checkpoints.verifiers(project, 1)))
                .isEqualTo(before.checkpoint());
        TestLogs after = new TestLogs(pool(), key, Map.of("annals.log.key-file", next.toString()));
        append(1);
        assertThat(Note.parse(after.newest(project).note()).signatures()).hasSize(1);
    }

    @Test
    void aDatabaseThatWasSetBackHaltsTheLog() throws Exception {
        TestLogs logs = withFile("key");
        setBackFrom20To10(logs);
        append(30);
        setBack().assertHalted(logs, "it was set back");
        append(1);
        setBack().assertHalted(withFile("key"), "it was set back");
        log.checkFeed(project);
    }

    @Test
    void aNoteThatDoesNotContinueTheOneSeenHaltsTheLog() throws Exception {
        TestLogs logs = withFile("key");
        setBackFrom20To10(logs);
        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set action = 'another' where id = (select id from annals.feed where project_id = '"
                        + project + "' and sequence_id = 15)");
        append(30);
        // Another instance has not seen the lost notes, and continues the log differently.
        logs().newest(project);
        setBack().assertHalted(logs, "does not continue that of 20");
    }

    @Test
    void aPromotedStandbyOrARestoredBackupHaltsTheLogUnlessItIsTrusted() throws Exception {
        append(10);
        logs().newest(project);
        log.run("update annals.merkle_log set incarnation = '1/00000001/1'");
        TestLogs trusting = new TestLogs(pool(), key, Map.of("annals.log.trust-promotion", "true"));
        append(10);
        assertThat(trusting.open(project).size()).isEqualTo(20);
        log.run("update annals.merkle_log set incarnation = '1/00000001/1'");
        setBack().assertHalted(logs(), "a standby was promoted");
    }

    @Test
    void anOperatorResumesALogAfterAPromotion() throws Exception {
        append(10);
        TestLogs logs = logs();
        Checkpoint before = logs.open(project);
        log.run("update annals.merkle_log set incarnation = '1/00000001/1'");
        append(10);
        setBack().assertHalted(logs, "a standby was promoted");
        assertThat(LogCommands.resume(log.database(), project)).isZero();
        TestLogs restarted = logs();
        assertContinues(restarted, before, restarted.open(project));
        assertThat(LogCommands.resume(log.database(), project)).isEqualTo(1);
    }

    @Test
    void anOperatorCannotResumeALogThatWasSetBackButBeginsTheNext() throws Exception {
        TestLogs logs = withFile("key");
        append(10);
        logs.newest(project);
        String backup = setBack().state();
        append(10);
        SignedLog last = logs.newest(project);
        setBack().to(backup);
        append(30);
        setBack().assertHalted(logs, "it was set back");
        LogCommands.resume(log.database(), project);
        setBack().assertHalted(withFile("key"), "it was set back");
        assertThat(LogCommands.nextEpoch(log.database(), project, false)).isZero();

        TestLogs next = withFile("key");
        Checkpoint begun = next.open(project);
        assertThat(begun.origin()).isEqualTo(next.keys.origin(project, 2));
        assertThat(begun.size()).isEqualTo(50);
        assertThat(begun.root()).isNotEqualTo(last.checkpoint().root());
        assertThat(log.text(
                        "select reason from annals.merkle_epoch where project_id = '" + project + "' and epoch = 1"))
                .contains("it was set back");
    }

    @Test
    void anOperatorBeginsTheNextLogFromThePresentRecords() throws Exception {
        append(600);
        TestLogs logs = logs();
        logs.newest(project);
        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set action = 'another' where id = (select id from annals.feed where project_id = '"
                        + project + "' and sequence_id = 590)");
        append(300);
        setBack().assertHalted(logs, "are not those that were taken into the tree");
        assertThat(LogCommands.nextEpoch(log.database(), project, true)).isZero();
        TestLogs next = logs();
        assertThat(next.open(project).size()).isEqualTo(900);
    }

    @Test
    void anotherKeyAndAnotherHostHaltTheLog() throws Exception {
        append(10);
        logs().newest(project);
        setBack()
                .assertHalted(
                        new TestLogs(pool(), MasterKey.draw(), Map.of()),
                        "is not one that this service's key has signed");
        UUID other = log.insertProject();
        project = other;
        logs().newest(project);
        setBack()
                .assertHalted(
                        new TestLogs(pool(), key, Map.of("annals.log.host", "elsewhere.example.org")),
                        "is not one that this service's key has signed as elsewhere.example.org");
    }

    @Test
    void theDatabaseRefusesToForgetASignedSize() throws Exception {
        append(10);
        logs().newest(project);
        assertThatThrownBy(() -> log.run("update annals.merkle_log set signed_size = 9"))
                .hasMessageContaining("cannot go back from 10 signed records to 9");
    }

    @Test
    void aKeyFileIsForItsOwnerAloneAndNeverOverwritten() throws Exception {
        Path file = directory.resolve("key");
        KeyFile.write(file, key);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThatThrownBy(() -> KeyFile.write(file, key)).isInstanceOf(FileAlreadyExistsException.class);
    }

    private TestLogs logs() {
        return new TestLogs(pool(), key, Map.of());
    }

    /** An instance that stores what it signs in a directory of its own. */
    private TestLogs withFile(String name) throws Exception {
        Path file = directory.resolve(name);
        if (!Files.exists(file)) {
            write(name, key);
        }
        return new TestLogs(pool(), key, Map.of("annals.log.key-file", file.toString()));
    }

    private Path write(String name, MasterKey master) throws Exception {
        Path file = directory.resolve(name);
        KeyFile.write(file, master);
        return file;
    }

    private Pool pool() {
        Pool pool = connections.open(4);
        pools.add(pool);
        return pool;
    }

    private synchronized void append(int count) throws SQLException {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project, count, random);
            connection.commit();
        }
    }

    /** Signs ten records and ten more, then restores a backup with the first ten. */
    private void setBackFrom20To10(TestLogs logs) throws Exception {
        append(10);
        logs.newest(project);
        String backup = setBack().state();
        append(10);
        logs.newest(project);
        setBack().to(backup);
    }

    private SetBack setBack() {
        return new SetBack(log, project);
    }

    private void assertContinues(TestLogs logs, Checkpoint before, Checkpoint after) {
        List<Hash> proof = new TreeReader(logs.pool, project)
                .hashes(MerkleTree.consistency(before.size(), after.size()), after.size())
                .await()
                .indefinitely();
        assertThat(MerkleTree.isConsistent(before.size(), before.root(), after.size(), after.root(), proof))
                .as("%s continues %s", after, before)
                .isTrue();
    }
}
