package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.http.ProblemType;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.proof.WitnessKey;
import dev.annals.proof.WitnessPolicy;
import dev.annals.tools.ops.LogCommands;
import io.vertx.mutiny.sqlclient.Pool;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Witnesses cosign logs that only grow. Their memory halts a log whose database was restored. Honest ones are of
 * transparency-dev/witness, hostile ones are {@link HostileWitness}.
 */
@Slow
@BesideTheService
@Timeout(300)
class WitnessesTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final PoolFixture connections = new PoolFixture(log.database(), Map.of());
    private final Random random = new Random(20260404);
    private final MasterKey key = MasterKey.draw();
    private final List<Pool> pools = new ArrayList<>();
    private final List<AutoCloseable> closed = new ArrayList<>();
    private UUID project;

    @TempDir
    Path directory;

    @BeforeEach
    void makeProject() throws SQLException {
        project = log.insertProject();
    }

    @AfterEach
    void close() throws Exception {
        pools.forEach(pool -> pool.close().await().indefinitely());
        for (AutoCloseable one : closed) {
            one.close();
        }
    }

    @Test
    @TakesLong
    void realWitnessesCosignALogThatGrows() throws Exception {
        TestWitness one = witness("witness.example/one");
        TestWitness other = witness("witness.example/other");
        TestLogs logs = logs("0", one.setting(), other.setting());
        WitnessPolicy both = WitnessPolicy.of(List.of(one.vkey(), other.vkey()), null);
        for (int more : new int[] {0, 1, 299, 256, 1000}) {
            append(more);
            SignedLog fresh = logs.newest(project);
            SignedLog cosigned = logs.checkpoints.witnessed(project, 2).await().atMost(LIMIT);
            assertThat(cosigned.size()).isEqualTo(fresh.size());
            assertThat(both.require(cosigned.note()))
                    .isEqualTo(", cosigned by 2 of 2 witnesses (witness.example/one, witness.example/other)");
            assertThat(Checkpoint.open(cosigned.note(), logs.checkpoints.verifiers(project, 1)))
                    .isEqualTo(fresh.checkpoint());
            assertThat(WitnessKey.parse(one.vkey()).cosigned(Note.parse(cosigned.note())))
                    .hasValueSatisfying(at ->
                            assertThat(Duration.between(at, Instant.now())).isLessThan(LIMIT));
            pause();
        }
        // Other instances serve these cosignatures, with or without witnesses of their own.
        SignedLog elsewhere = logs("0").newest(project);
        assertThat(both.require(elsewhere.note())).contains("2 of 2");
        append(1);
        SignedLog later = logs("0").newest(project);
        assertThat(both.cosigners(Note.parse(later.note()))).isEmpty();
        assertThat(later.cosigned()).isNotNull();
        assertThat(later.cosigned().size()).isEqualTo(elsewhere.size());
    }

    @Test
    void aLogWithoutReadersIsOfferedByOneInstance() throws Exception {
        TestWitness witness = witness("witness.example/one");
        TestLogs one = logs("1", witness.setting());
        TestLogs other = logs("1", witness.setting());
        one.newest(project);
        append(300);
        one.projector.catchUp();
        Await.until("a round comes", () -> {
            one.round().await().atMost(LIMIT);
            other.round().await().atMost(LIMIT);
            return cosignedSize() == 300;
        });
        assertThat(one.witnesses.of(project, 1).await().atMost(LIMIT))
                .singleElement()
                .satisfies(seen -> {
                    assertThat(seen.witness().vkey()).isEqualTo(witness.vkey());
                    assertThat(seen.entry().size()).isEqualTo(300);
                    assertThat(seen.entry().cosignedAt()).isNotNull();
                    assertThat(seen.entry().error()).isNull();
                });
    }

    @Test
    void aWitnessThatIsAheadOfADatabaseThatWasSetBackHaltsTheLog() throws Exception {
        TestWitness witness = witness("witness.example/one");
        TestLogs before = logs("0", witness.setting());
        append(10);
        before.newest(project);
        final String backup = setBack().state();
        append(10);
        cosigned(before, 20);
        setBack().to(backup);
        append(30);
        // This instance remembers; another one asks before it signs.
        setBack()
                .assertHalted(
                        before,
                        "the witness witness.example/one objects: it has cosigned 20 records, and the database");
        assertThat(LogCommands.resume(log.database(), project)).isZero();
        setBack()
                .assertHalted(
                        logs("0", witness.setting()),
                        "the witness witness.example/one objects: it has cosigned 20 records, and the database knows of 10");
        assertThat(signedSize()).isEqualTo(10);
        LogCommands.resume(log.database(), project);
        setBack().assertHalted(before, "the witness witness.example/one objects");
        LogCommands.nextEpoch(log.database(), project, false);
        witness.add(logs("0").keys.of(project, 2).get(0).verifier().toString());
        assertThat(cosigned(logs("0", witness.setting()), 50).epoch()).isEqualTo(2);
    }

    @Test
    void aWitnessNoticesADatabaseThatForgotAllSignatures() throws Exception {
        TestWitness witness = witness("witness.example/one");
        append(10);
        cosigned(logs("0", witness.setting()), 10);
        log.run(
                "set local session_replication_role = replica",
                "delete from annals.merkle_witness where project_id = '" + project + "'",
                "update annals.merkle_log set signed_size = 0, checkpoint = null, cosigned = null, cosigned_size = 0,"
                        + " incarnation = null where project_id = '" + project + "'");
        setBack().assertHalted(logs("0", witness.setting()), "it has cosigned 10 records, and the database knows of 0");
    }

    /** It has cosigned 20 records. The database was then restored to 10, and now has another 15th record. */
    private TestWitness witnessOfOtherRecords() throws Exception {
        TestWitness witness = witness("witness.example/one");
        append(10);
        TestLogs before = logs("0", witness.setting());
        before.newest(project);
        final String backup = setBack().state();
        append(10);
        cosigned(before, 20);
        setBack().to(backup);
        changeRecord(15);
        return witness;
    }

    @Test
    void aForkThatAWitnessRefusesHaltsTheLog() throws Exception {
        TestWitness witness = witnessOfOtherRecords();
        append(30);
        // An instance without witnesses continues the log differently.
        assertThat(logs("0").newest(project).size()).isEqualTo(50);
        append(5);
        setBack()
                .assertHalted(
                        logs("0", witness.setting()),
                        "the witness witness.example/one objects: the log of 50 records does not continue that of 20 which it has"
                                + " cosigned");
        assertThat(signedSize()).isEqualTo(50);
    }

    @Test
    void otherRecordsOfTheSameNumberHaltTheLog() throws Exception {
        TestWitness witness = witnessOfOtherRecords();
        assertThat(logs("0").newest(project).size()).isEqualTo(20);
        append(5);
        setBack()
                .assertHalted(
                        logs("0", witness.setting()),
                        "the witness witness.example/one objects: it has cosigned other 20 records of this log");
    }

    @Test
    void aWitnessThatDoesNotKnowTheLogHaltsNothing() throws Exception {
        TestWitness witness = TestWitness.start("witness.example/stranger", directory);
        closed.add(witness);
        TestLogs logs = logs("0", witness.setting());
        append(10);
        assertThat(logs.newest(project).size()).isEqualTo(10);
        SetBack.assertProblem(
                ProblemType.LOG_BEHIND,
                () -> logs.checkpoints.witnessed(project, 1).await().atMost(LIMIT));
        assertThat(logs.witnesses.of(project, 1).await().atMost(LIMIT))
                .singleElement()
                .satisfies(seen -> assertThat(seen.entry().error()).isEqualTo("it does not know the log"));
    }

    /** Answers that are no cosignature, and the error that readers of the log see. */
    private static Map<String, HostileWitness.Behaviour> hostile() {
        Map<String, HostileWitness.Behaviour> all = new LinkedHashMap<>();
        all.put("it did not answer within 300 ms", (witness, exchange, note) -> witness.hang());
        all.put("it did not answer within 300 ms\u200b", (witness, exchange, note) -> witness.drip(exchange));
        all.put("its answer is longer than 32768 bytes", (witness, exchange, note) -> HostileWitness.flood(exchange));
        all.put("the connection broke", (witness, exchange, note) -> exchange.close());
        all.put(
                "its cosignature does not hold",
                (witness, exchange, note) ->
                        HostileWitness.answer(exchange, 200, witness.line("another text\n", Instant.now())));
        all.put(
                "its cosignature is from another time",
                (witness, exchange, note) -> HostileWitness.answer(
                        exchange, 200, witness.line(note.text(), Instant.now().minusSeconds(600))));
        all.put(
                "its cosignature is from another time: 2",
                (witness, exchange, note) -> HostileWitness.answer(
                        exchange, 200, witness.line(note.text(), Instant.now().plusSeconds(600))));
        all.put(
                "it answered without one cosignature of its key",
                (witness, exchange, note) -> HostileWitness.answer(
                        exchange, 200, "\u2014 somebody.else AAAAAAAAAAAA\n<script>secret</script>"));
        all.put(
                "it answered with HTTP status 500",
                (witness, exchange, note) -> HostileWitness.answer(exchange, 500, "secret"));
        all.put("it answered with HTTP status 302", (witness, exchange, note) -> {
            exchange.getResponseHeaders().set("Location", "http://127.0.0.1:1/secret");
            HostileWitness.answer(exchange, 302, "");
        });
        all.put(
                "it knows of another checkpoint, and does not say which",
                (witness, exchange, note) -> HostileWitness.answer(exchange, 409, "99999999999999999999999\n"));
        all.put(
                "it has cosigned ",
                (witness, exchange, note) ->
                        HostileWitness.answer(exchange, 409, witness.calls.get() % 2 == 1 ? "7\n" : "3\n"));
        all.put(
                "it cannot read checkpoints of this log",
                (witness, exchange, note) -> HostileWitness.answer(exchange, 400, "secret"));
        return all;
    }

    @Test
    void theLogIsSignedAndCosignedByOthersWhateverAWitnessAnswers() throws Exception {
        TestWitness honest = witness("witness.example/one");
        append(10);
        cosigned(logs("0", honest.setting()), 10);
        for (Map.Entry<String, HostileWitness.Behaviour> behaviour : hostile().entrySet()) {
            String error = behaviour.getKey().replace("\u200b", "");
            try (HostileWitness hostile = new HostileWitness()) {
                hostile.behave(behaviour.getValue());
                append(1);
                TestLogs logs = logs("1", Duration.ofMillis(300), hostile.setting(), honest.setting());
                SignedLog cosigned =
                        logs.checkpoints.witnessed(project, 1).await().atMost(LIMIT);
                assertThat(cosigned.size())
                        .as(error)
                        .isEqualTo(logs.newest(project).size());
                assertThat(WitnessPolicy.of(List.of(hostile.vkey(), honest.vkey()), 1)
                                .require(cosigned.note()))
                        .isEqualTo(", cosigned by 1 of 2 witnesses (witness.example/one)");
                Await.until(
                        "what it answered is noted",
                        () -> logs.witnesses.of(project, 1).await().atMost(LIMIT).stream()
                                .anyMatch(seen -> seen.witness().name().equals(HostileWitness.NAME)
                                        && seen.entry().error() != null
                                        && seen.entry().error().startsWith(error)
                                        && !seen.entry().error().contains("secret")));
                assertThat(hostile.calls).as(error).hasValueLessThan(10);
            }
        }
    }

    @Test
    void aSlowWitnessDelaysNoReaderAndIsLeftAlone() throws Exception {
        try (HostileWitness slow = new HostileWitness()) {
            TestWitness prompt = witness("witness.example/one");
            slow.behave((witness, exchange, note) -> witness.hang());
            TestLogs logs = logs("0", slow.setting(), prompt.setting());
            append(1);
            // Only the first offer waits for it.
            assertThat(cosigned(logs, 1).size()).isEqualTo(1);
            int asked = slow.calls.get();
            for (int size = 2; size < 20; size++) {
                append(1);
                // The slow one never answers.
                assertThat(logs.checkpoints
                                .offer(logs.newest(project))
                                .await()
                                .atMost(LIMIT)
                                .size())
                        .isEqualTo(size);
            }
            assertThat(slow.calls.get() - asked).isLessThan(8);
            Await.until(
                    "it is left alone",
                    () -> logs.witnesses.failing().equals(List.of(HostileWitness.NAME))
                            && logs.witnesses.available().size() == 1);
        }
    }

    @Test
    void aLateCosignatureIsStored() throws Exception {
        try (HostileWitness late = new HostileWitness()) {
            late.behave((witness, exchange, note) -> {
                Thread.sleep(1_500);
                HostileWitness.cosign(witness, exchange, note);
            });
            TestLogs logs = logs("0", Duration.ofSeconds(10), late.setting());
            append(10);
            logs.newest(project);
            WitnessPolicy policy = WitnessPolicy.of(List.of(late.vkey()), 1);
            Await.until("it comes", () -> {
                SignedLog cosigned = logs.checkpoints
                        .offer(logs.newest(project))
                        .await()
                        .atMost(LIMIT)
                        .cosigned();
                return cosigned != null
                        && policy.cosigners(Note.parse(cosigned.note())).size() == 1;
            });
        }
    }

    @Test
    void aWitnessThatClaimsALargerSizeCanOnlyHaltTheLog() throws Exception {
        try (HostileWitness liar = new HostileWitness()) {
            append(10);
            liar.behave((witness, exchange, note) -> HostileWitness.answer(exchange, 409, "1000000\n"));
            setBack()
                    .assertHalted(
                            logs("0", liar.setting()), "it has cosigned 1000000 records, and the database knows of 0");
            // The operator removes the witness.
            LogCommands.resume(log.database(), project);
            assertThat(logs("0").newest(project).size()).isEqualTo(10);
        }
    }

    @Test
    void severalCosignaturesOfOneNoteDoNotPileUp() throws Exception {
        TestWitness witness = witness("witness.example/one");
        TestLogs logs = logs("0", witness.setting());
        append(10);
        for (int i = 0; i < 4; i++) {
            cosigned(logs, 10);
            logs.checkpoints.offer(logs.newest(project)).await().atMost(LIMIT);
            pause();
        }
        assertThat(Note.parse(logs.newest(project).note()).signatures()).hasSize(2);
    }

    @Test
    void settingsThatCannotBeUsedStopTheStart() throws Exception {
        try (HostileWitness witness = new HostileWitness()) {
            String vkey = witness.vkey();
            for (String url : List.of(
                    "http://witness.example/",
                    "https://user:secret@witness.example/",
                    "https://witness.example/?secret",
                    "http://127.0.0.1.witness.example/",
                    "http://169.254.169.254/")) {
                assertThatThrownBy(() -> logs("0", vkey + " " + url))
                        .hasMessageContaining("ANNALS_LOG_WITNESSES")
                        .hasMessageNotContaining("secret");
            }
            String log = logs("0").keys.of(project, 1).get(0).verifier().toString();
            assertThatThrownBy(() -> logs("0", log + " https://witness.example"))
                    .hasMessageContaining("type 4");
            assertThatThrownBy(() -> logs("0", witness.setting(), witness.setting()))
                    .hasMessageContaining("is named twice");
            assertThatThrownBy(() -> logs("2", witness.setting())).hasMessageContaining("ANNALS_LOG_WITNESSES_NEEDED");
            assertThatThrownBy(() -> logs("0", "no key at all")).hasMessageContaining("annals.log.witnesses");
        }
    }

    private TestWitness witness(String name) throws Exception {
        TestWitness witness = TestWitness.start(name, directory);
        closed.add(witness);
        witness.add(logs("0").keys.of(project, 1).get(0).verifier().toString());
        return witness;
    }

    private TestLogs logs(String needed, String... witnesses) {
        return logs(needed, Witnesses.TIMEOUT, witnesses);
    }

    private TestLogs logs(String needed, Duration timeout, String... witnesses) {
        Map<String, String> settings = new HashMap<>();
        if (witnesses.length > 0) {
            settings.put("annals.log.witnesses", String.join(",", witnesses));
            settings.put("annals.log.witness-interval", "100ms");
            settings.put("annals.log.witnesses-needed", needed);
        }
        Pool pool = connections.open(4);
        pools.add(pool);
        return new TestLogs(pool, key, settings, timeout);
    }

    /** On a busy machine, the witness may take more than a second; until then it has cosigned an older checkpoint. */
    private SignedLog cosigned(TestLogs logs, long size) throws Exception {
        Await.until(
                "so many records are cosigned",
                () -> logs.checkpoints
                                .witnessed(project, 1)
                                .await()
                                .atMost(LIMIT)
                                .size()
                        == size);
        return logs.checkpoints.witnessed(project, 1).await().atMost(LIMIT);
    }

    /** Requests for cosignatures within a second share an offer. */
    private static void pause() throws InterruptedException {
        Thread.sleep(1_100);
    }

    private void append(int count) throws SQLException {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project, count, random);
            connection.commit();
        }
    }

    private void changeRecord(int sequenceId) throws SQLException {
        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set action = 'another' where id = (select id from annals.feed where project_id = '"
                        + project + "' and sequence_id = " + sequenceId + ")");
    }

    private long cosignedSize() throws SQLException {
        return log.number("select cosigned_size from annals.merkle_log where project_id = '" + project + "'");
    }

    private long signedSize() throws SQLException {
        return log.number("select signed_size from annals.merkle_log where project_id = '" + project + "'");
    }

    private SetBack setBack() {
        return new SetBack(log, project);
    }
}
