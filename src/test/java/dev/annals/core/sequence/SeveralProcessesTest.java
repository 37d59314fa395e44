package dev.annals.core.sequence;

import static dev.annals.core.sequence.SequenceProcess.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.core.sequence.Sequence.Definition;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The kinds keep their promises with processes that are JVMs of their own, one of which is ended by SIGKILL. */
@QuarkusTest
@Timeout(180)
class SeveralProcessesTest {

    private static final int ROUNDS = Load.times(60, 150);
    private static final long SERIES = 1_000_000;

    @Inject
    AuditLogFixture log;

    @Test
    void aProcessThatIsKilledWhileItDrawsLosesItsBatchIsIssuedNothingTwiceAndItsSeriesGoesOn() throws Exception {
        UUID project = log.newProject().id();
        List<SequenceKind> kinds = Arrays.stream(SequenceKind.values())
                .filter(SequenceKind::isDrawn)
                .toList();
        try (SequenceProcess definer = new SequenceProcess()) {
            for (SequenceKind kind : kinds) {
                definer.sequences
                        .define(project, kind.name(), Definition.of(kind))
                        .await()
                        .atMost(LONG);
            }
        }
        try (DrawingProcess killed = new DrawingProcess(project, 0, kinds);
                DrawingProcess second = new DrawingProcess(project, ROUNDS, kinds);
                DrawingProcess third = new DrawingProcess(project, ROUNDS, kinds)) {
            // In the middle of a round, while the others draw, too.
            second.awaitBlocks(kinds.size());
            third.awaitBlocks(kinds.size());
            killed.awaitBlocks(20 * kinds.size() + 4);
            killed.kill();
            second.awaitDone();
            third.awaitDone();
            awaitGone(killed.name());
            try (DrawingProcess fourth = new DrawingProcess(project, ROUNDS, kinds)) {
                fourth.awaitDone();
                for (SequenceKind kind : kinds) {
                    assertIssuedOnce(kind, killed, second, third, fourth);
                }
                long lastOfKilled = last(killed.issued(SequenceKind.RECYCLED_SERIES));
                assertThat(fourth.issued(SequenceKind.RECYCLED_SERIES).get(0))
                        .as("the series of the killed process, but for what was on its way")
                        .isBetween(lastOfKilled + 1, lastOfKilled + 1 + DrawingProcess.MAX_COUNT);
                assertThat(List.of(
                                seriesOf(second.issued(SequenceKind.RECYCLED_SERIES)),
                                seriesOf(third.issued(SequenceKind.RECYCLED_SERIES)),
                                seriesOf(fourth.issued(SequenceKind.RECYCLED_SERIES))))
                        .containsExactlyInAnyOrder(0L, 1L, 2L);
            }
        }
    }

    private static void assertIssuedOnce(SequenceKind kind, DrawingProcess killed, DrawingProcess... others) {
        List<Long> all = new ArrayList<>(killed.issued(kind));
        assertThat(all).as("%s before the kill", kind).isNotEmpty();
        int perProcess = 0;
        for (int i = 0; i < ROUNDS; i++) {
            perProcess += 1 + i % DrawingProcess.MAX_COUNT;
        }
        for (DrawingProcess other : others) {
            assertThat(other.issued(kind)).as("%s", kind).hasSize(perProcess);
            all.addAll(other.issued(kind));
        }
        assertThat(all).as("%s", kind).doesNotHaveDuplicates();
    }

    private static long last(List<Long> values) {
        return values.get(values.size() - 1);
    }

    /** Which series all the values are from, counted from 0. */
    private static long seriesOf(List<Long> values) {
        long series = (values.get(0) - 1) / SERIES;
        assertThat(values).allMatch(value -> (value - 1) / SERIES == series).isSorted();
        return series;
    }

    /** Waits until the server has found a process' connections closed. */
    private void awaitGone(String name) throws Exception {
        String connections = "select count(*) from pg_stat_activity where application_name = '" + name + "'";
        Await.until(
                "the connections of " + name + " are gone",
                () -> log.numbers(connections).equals(List.of(0L)));
    }
}
