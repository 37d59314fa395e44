package dev.annals.core.sequence;

import static dev.annals.core.sequence.SequenceProcess.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.access.caller.Actor;
import dev.annals.core.sequence.Sequence.Definition;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Each kind of sequence keeps its promises with three processes on one database. */
@BesideTheService
class SequenceGeneratorTest {

    private static final SqlFixture sql = SqlFixture.ofTheSchemaAlone();

    private final SequenceProcess a = new SequenceProcess(sql.database());
    private final SequenceProcess b = new SequenceProcess(sql.database());
    private final SequenceProcess c = new SequenceProcess(sql.database());
    private UUID project;

    @BeforeEach
    void makeProject() throws SQLException {
        project = sql.insertProject();
    }

    @AfterEach
    void close() {
        List.of(a, b, c).forEach(SequenceProcess::close);
    }

    @ParameterizedTest
    @EnumSource(
            value = SequenceKind.class,
            mode = Mode.EXCLUDE,
            names = {"COMMIT_ORDERED", "MAX_PLUS_ONE"})
    void noValueIsIssuedTwiceToThreeProcessesAtOnce(SequenceKind kind) {
        Sequence sequence = a.define(project, Definition.of(kind));
        Set<Long> issued = ConcurrentHashMap.newKeySet();
        int total = 0;
        List<Uni<SequenceBlock>> calls = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            int count = 1 + i % 7;
            total += count;
            calls.add(List.of(a, b, c).get(i % 3).sequences.generator(sequence).next(count));
        }
        Multi.createBy()
                .merging()
                .withConcurrency(48)
                .streams(calls.stream().map(Uni::toMulti).toList())
                .collect()
                .asList()
                .await()
                .atMost(LONG)
                .forEach(block -> block.stream().forEach(issued::add));
        assertThat(issued).hasSize(total).allMatch(value -> value > 0);
    }

    @ParameterizedTest
    @EnumSource(
            value = SequenceKind.class,
            names = {"SYNCHRONOUS", "ASYNCHRONOUS", "BATCH", "ASYNC_BATCH", "RECYCLED_SERIES", "NATIVE"})
    void anExhaustedSequenceSaysSoAndNeverBeginsAgain(SequenceKind kind) {
        long first = Sequence.GREATEST - 9;
        Sequence sequence = a.define(project, Definition.of(kind).startingAt(first));
        assertThat(a.draw(sequence, 4).stream()).containsExactly(first, first + 1, first + 2, first + 3);
        assertThat(a.draw(sequence, 6).get(5)).isEqualTo(Sequence.GREATEST);
        for (SequenceProcess process : List.of(a, b)) {
            assertProblem(ProblemType.SEQUENCE_EXHAUSTED, () -> process.draw(sequence, 1));
            assertProblem(ProblemType.SEQUENCE_EXHAUSTED, () -> process.draw(sequence, 1000));
        }
    }

    @Test
    void aPseudoRandomSequenceEndsWithItsPeriod() throws SQLException {
        Sequence sequence =
                a.define(project, Definition.of(SequenceKind.PSEUDO_RANDOM).startingAt(42));
        assertThat(a.draw(sequence, 3).stream())
                .containsExactly((long) ParkMiller.at(42, 1), (long) ParkMiller.at(42, 2), (long) ParkMiller.at(42, 3));
        sql.run("update annals.sequence set next_value = 2147483645 where id = '" + sequence.id() + "'");
        assertThat(b.draw(sequence, 2).get(1)).as("the period ends at its seed").isEqualTo(42);
        assertProblem(ProblemType.SEQUENCE_EXHAUSTED, () -> c.draw(sequence, 1));
    }

    @ParameterizedTest
    @EnumSource(
            value = SequenceKind.class,
            mode = Mode.EXCLUDE,
            names = {"COMMIT_ORDERED", "MAX_PLUS_ONE", "COMPOSITE"})
    void aSequenceThatIsDeletedWhileInUseGivesAClearErrorAndItsNameIsNotUsedAgain(SequenceKind kind) {
        Definition definition = Definition.of(kind);
        Sequence sequence = a.define(
                project,
                kind.hasBatchSize() && kind != SequenceKind.NATIVE ? definition.inBatchesOf(4, 0) : definition);
        List<Long> issued = new ArrayList<>();
        a.draw(sequence, 3).stream().forEach(issued::add);
        b.draw(sequence, 3).stream().forEach(issued::add);
        c.sequences.delete(project, sequence.name(), Actor.SERVICE).await().atMost(LONG);
        for (SequenceProcess process : List.of(a, b)) {
            assertProblem(ProblemType.SEQUENCE_DELETED, () -> {
                for (int i = 0; i < 10; i++) {
                    process.draw(sequence, 1).stream().forEach(issued::add);
                }
            });
        }
        assertThat(issued).doesNotHaveDuplicates();
        assertProblem(
                ProblemType.SEQUENCE_DELETED,
                () -> c.sequences
                        .define(project, sequence.name(), sequence.definition())
                        .await()
                        .atMost(LONG));
        assertProblem(
                ProblemType.SEQUENCE_DELETED,
                () -> c.sequences.draw(project, sequence.name(), 1).await().atMost(LONG));
    }

    @Test
    void synchronousValuesHaveNoGapAlthoughTransactionsRollBack() {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.SYNCHRONOUS));
        List<Uni<Long>> calls = IntStream.range(0, 300)
                .mapToObj(i -> numbered(List.of(a, b, c).get(i % 3), sequence, i % 5 == 0))
                .toList();
        List<Long> committed = Multi.createBy()
                .merging()
                .withConcurrency(18)
                .streams(calls.stream().map(Uni::toMulti).toList())
                .collect()
                .asList()
                .await()
                .atMost(LONG);
        assertThat(committed)
                .containsExactlyInAnyOrderElementsOf(
                        LongStream.rangeClosed(1, 240).boxed().toList());
    }

    /** Null where the transaction rolls back. */
    private static Uni<Long> numbered(SequenceProcess process, Sequence sequence, boolean fails) {
        return process.pool
                .withTransaction(transaction -> process.sequences
                        .synchronous(sequence)
                        .in(transaction)
                        .next()
                        .invoke(value -> {
                            if (fails) {
                                throw new IllegalStateException("rolled back");
                            }
                        }))
                .onFailure(IllegalStateException.class)
                .recoverWithNull();
    }

    @Test
    void severalSynchronousValuesInOneTransactionTouchTheRowOnce() {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.SYNCHRONOUS));
        long updates = a.pool.withTransaction(transaction -> a.sequences
                        .synchronous(sequence)
                        .withValues(
                                transaction,
                                values -> values.next()
                                        .chain(first -> values.next(5))
                                        .chain(block -> values.next())
                                        .invoke(last -> assertThat(last).isEqualTo(7)))
                        .chain(last -> transaction
                                .query("select n_tup_upd from pg_stat_xact_user_tables where relname = 'sequence'")
                                .execute())
                        .map(rows -> rows.iterator().next().getLong(0)))
                .await()
                .atMost(LONG);
        assertThat(updates).isEqualTo(1);
        assertThat(b.draw(sequence, 1).get(0)).isEqualTo(8);
    }

    @Test
    void asynchronousValuesAreInTheOrderOfRequests() {
        Sequence sequence =
                a.define(project, Definition.of(SequenceKind.ASYNCHRONOUS).startingAt(100));
        for (int i = 0; i < 30; i++) {
            assertThat(List.of(a, b, c).get(i % 3).draw(sequence, 1).get(0)).isEqualTo(100 + i);
        }
    }

    @Test
    void aProcessThatDiesInTheMiddleOfABatchLeavesAGapAndNoDuplicate() throws SQLException {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.BATCH).inBatchesOf(10, 0));
        assertThat(a.draw(sequence, 4).stream()).containsExactly(1L, 2L, 3L, 4L);
        assertThat(b.draw(sequence, 1).get(0)).isEqualTo(11);
        assertThat(a.kill()).isPositive();
        assertThat(c.draw(sequence, 1).get(0)).isEqualTo(21);
        assertThat(b.draw(sequence, 12).stream())
                .containsExactly(12L, 13L, 14L, 15L, 16L, 17L, 18L, 19L, 20L, 31L, 32L, 33L);
    }

    @Test
    void aDeadProcessSeriesIsTakenOverAtItsNextValueLowestFirst() throws SQLException {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.RECYCLED_SERIES));
        assertThat(a.draw(sequence, 3).stream()).containsExactly(1L, 2L, 3L);
        assertThat(b.draw(sequence, 2).stream()).containsExactly(1_000_001L, 1_000_002L);
        assertThat(c.draw(sequence, 1).stream()).containsExactly(2_000_001L);
        assertThat(b.kill()).isPositive();
        assertThat(a.kill()).isPositive();
        try (SequenceProcess d = new SequenceProcess(sql.database());
                SequenceProcess e = new SequenceProcess(sql.database());
                SequenceProcess f = new SequenceProcess(sql.database())) {
            assertThat(d.draw(sequence, 1).get(0)).isEqualTo(4);
            assertThat(e.draw(sequence, 1).get(0)).isEqualTo(1_000_003);
            assertThat(f.draw(sequence, 1).get(0)).isEqualTo(3_000_001);
            assertThat(a.draw(sequence, 1).get(0))
                    .as("the one that was killed has lost its series")
                    .isEqualTo(4_000_001);
            assertThat(c.draw(sequence, 1).get(0)).isEqualTo(2_000_002);
        }
    }

    @Test
    void atTheEndOfASeriesAnAbandonedOneIsTakenOverAndThenANewOne() throws SQLException {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.RECYCLED_SERIES));
        a.draw(sequence, 1);
        b.draw(sequence, 1);
        c.draw(sequence, 1);
        sql.run("update annals.sequence_series set next_value = last_value - 1 where sequence_id = '" + sequence.id()
                + "'");
        b.close();
        assertThat(a.draw(sequence, 5).stream())
                .containsExactly(999_999L, 1_000_000L, 1_999_999L, 2_000_000L, 3_000_001L);
        assertThat(c.draw(sequence, 3).stream()).containsExactly(2_999_999L, 3_000_000L, 4_000_001L);
    }

    @Test
    void processesKilledAtRandomWhileDrawingIssueNothingTwice() throws Exception {
        for (SequenceKind kind :
                List.of(SequenceKind.RECYCLED_SERIES, SequenceKind.ASYNC_BATCH, SequenceKind.SYNCHRONOUS)) {
            Sequence sequence = a.define(project, Definition.of(kind));
            List<Long> issued = Collections.synchronizedList(new ArrayList<>());
            List<FutureTask<Void>> draws = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                SequenceProcess process = List.of(a, b, c).get(i % 3);
                draws.add(new FutureTask<>(() -> drawUntilEnough(process, sequence, issued)));
                new Thread(draws.get(i)).start();
            }
            int killed = 0;
            for (int kills = 0; kills < 6; kills++) {
                int before = issued.size();
                while (issued.size() < before + 50 && !draws.stream().allMatch(FutureTask::isDone)) {
                    Thread.onSpinWait();
                }
                killed += List.of(a, b, c).get(kills % 3).kill();
            }
            for (FutureTask<Void> draw : draws) {
                draw.get();
            }
            assertThat(killed).as("connections that were ended").isPositive();
            assertThat(issued).as("%s", kind).hasSizeGreaterThan(1_000).doesNotHaveDuplicates();
        }
    }

    private static Void drawUntilEnough(SequenceProcess process, Sequence sequence, List<Long> issued) {
        for (int i = 0; i < 400; i++) {
            try {
                process.draw(sequence, 1 + i % 3).stream().forEach(issued::add);
            } catch (RuntimeException e) {
                // Killed: what was on its way is lost.
                if (!DatabaseFailure.isTransient(e.getCause() == null ? e : e.getCause())) {
                    throw e;
                }
            }
        }
        return null;
    }

    @Test
    void compositeKeysAreOrderedWithinAProcessAndSpreadOverProcesses() {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.COMPOSITE));
        List<Long> drawn = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            a.draw(sequence, 10).stream().forEach(drawn::add);
        }
        assertThat(drawn).isSorted().doesNotHaveDuplicates();
        long spreadA = drawn.get(0) >>> CompositeSequence.TIME_BITS;
        long spreadB = b.draw(sequence, 1).get(0) >>> CompositeSequence.TIME_BITS;
        assertThat(Math.abs(spreadA - spreadB)).isGreaterThanOrEqualTo(1 << (CompositeSequence.SPREAD_BITS - 2));
    }

    @Test
    void bitReversedValuesArePositiveAndFarApart() {
        Sequence sequence = a.define(project, Definition.of(SequenceKind.BIT_REVERSED));
        assertThat(a.draw(sequence, 4).stream()).containsExactly(1L << 62, 1L << 61, 3L << 61, 1L << 60);
    }

    @Test
    void theSameDefinitionMayBeSentAgainAndAnotherMayNot() {
        Definition definition = Definition.of(SequenceKind.BATCH);
        assertThat(a.sequences
                        .define(project, "n", definition)
                        .await()
                        .atMost(LONG)
                        .created())
                .isTrue();
        assertThat(b.sequences
                        .define(project, "n", definition)
                        .await()
                        .atMost(LONG)
                        .created())
                .isFalse();
        assertProblem(
                ProblemType.SEQUENCE_EXISTS,
                () -> c.sequences
                        .define(project, "n", definition.startingAt(2))
                        .await()
                        .atMost(LONG));
    }

    private static void assertProblem(ProblemType type, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        e -> assertThat(e.problem().type()).isEqualTo(type));
    }
}
