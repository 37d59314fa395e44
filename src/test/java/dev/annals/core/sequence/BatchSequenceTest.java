package dev.annals.core.sequence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BatchSequenceTest {

    private static final int RETRIES = 2;

    /** Refills that the test completes by hand. */
    private static final class ByHand implements ValueSource {
        final List<CompletableFuture<Range>> asked = new ArrayList<>();
        final List<Long> wanted = new ArrayList<>();

        @Override
        public Uni<Range> reserve(long count) {
            CompletableFuture<Range> refill = new CompletableFuture<>();
            asked.add(refill);
            wanted.add(count);
            return Uni.createFrom().completionStage(refill);
        }
    }

    @Test
    void callersDuringARefillShareIt() {
        ByHand source = new ByHand();
        BatchSequence batch = new BatchSequence(source, "s", 10, 0, RETRIES);
        List<CompletableFuture<Long>> callers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            callers.add(batch.next().subscribeAsCompletionStage());
        }
        assertThat(source.wanted).containsExactly(10L);
        source.asked.get(0).complete(new ValueSource.Range(1, 10));
        assertThat(callers).extracting(CompletableFuture::join).containsExactly(1L, 2L, 3L, 4L);
        assertThat(source.wanted).hasSize(1);
    }

    @Test
    void callersThatWantMoreThanABatchGetItInOneRefill() {
        ByHand source = new ByHand();
        BatchSequence batch = new BatchSequence(source, "s", 10, 0, RETRIES);
        CompletableFuture<SequenceBlock> caller = batch.next(25).subscribeAsCompletionStage();
        assertThat(source.wanted).containsExactly(25L);
        source.asked.get(0).complete(new ValueSource.Range(1, 25));
        assertThat(caller.join().stream())
                .containsExactlyElementsOf(LongStream.rangeClosed(1, 25).boxed().toList());
    }

    @Test
    void theNextBatchIsFetchedBelowTheLowWaterMarkWhileValuesAreHandedOut() {
        ByHand source = new ByHand();
        BatchSequence batch = new BatchSequence(source, "s", 10, 4, RETRIES);
        CompletableFuture<Long> first = batch.next().subscribeAsCompletionStage();
        source.asked.get(0).complete(new ValueSource.Range(1, 10));
        assertThat(first).isCompletedWithValue(1L);
        for (long value = 2; value <= 6; value++) {
            assertThat(batch.next().await().indefinitely()).isEqualTo(value);
        }
        assertThat(source.wanted).hasSize(1);
        assertThat(batch.next().await().indefinitely()).isEqualTo(7);
        assertThat(source.wanted).hasSize(2);
        assertThat(batch.next(3).await().indefinitely().stream()).containsExactly(8L, 9L, 10L);
        CompletableFuture<Long> waits = batch.next().subscribeAsCompletionStage();
        assertThat(waits).isNotDone();
        source.asked.get(1).complete(new ValueSource.Range(101, 10));
        assertThat(waits).isCompletedWithValue(101L);
    }

    @Test
    void aRefillThatFailsIsTriedAgainAndSurfacesOnlyWhenValuesHaveRunOut() {
        AtomicInteger calls = new AtomicInteger();
        AtomicLong next = new AtomicLong(1);
        boolean[] broken = {false};
        ValueSource source = wanted -> {
            calls.incrementAndGet();
            return broken[0]
                    ? Uni.createFrom().failure(new IOException("the database is away"))
                    : Uni.createFrom().item(() -> new ValueSource.Range(next.getAndAdd(wanted), wanted));
        };
        BatchSequence batch = new BatchSequence(source, "s", 10, 5, RETRIES);
        assertThat(batch.next().await().indefinitely()).isEqualTo(1);
        broken[0] = true;
        for (long value = 2; value <= 10; value++) {
            assertThat(batch.next().await().indefinitely()).isEqualTo(value);
        }
        assertThatThrownBy(() -> batch.next().await().atMost(Duration.ofSeconds(5)))
                .hasRootCauseInstanceOf(IOException.class);
        assertThat(calls).hasValueGreaterThan(1 + RETRIES);
        broken[0] = false;
        assertThat(batch.next().await().atMost(Duration.ofSeconds(5))).isEqualTo(11);
    }

    @Test
    void whatIsLeftOfAnExhaustedSequenceIsHandedOutToTheLastValue() {
        ProblemException exhausted = new ProblemException(ProblemType.SEQUENCE_EXHAUSTED, "no more");
        AtomicInteger calls = new AtomicInteger();
        ValueSource source = wanted -> calls.incrementAndGet() == 1
                ? Uni.createFrom().item(new ValueSource.Range(1, 6))
                : Uni.createFrom().failure(exhausted);
        BatchSequence batch = new BatchSequence(source, "s", 10, 4, RETRIES);
        assertThat(batch.next(3).await().indefinitely().stream()).containsExactly(1L, 2L, 3L);
        assertThatThrownBy(() -> batch.next(4).await().indefinitely()).isSameAs(exhausted);
        assertThat(batch.next(3).await().indefinitely().stream()).containsExactly(4L, 5L, 6L);
        assertThatThrownBy(() -> batch.next().await().indefinitely()).isSameAs(exhausted);
        assertThat(calls)
                .as("calls for a sequence that is known to be exhausted")
                .hasValueLessThanOrEqualTo(3);
    }

    @Test
    void tooManyWaitingCallersAreTurnedAway() {
        BatchSequence batch = new BatchSequence(new ByHand(), "s", 10, 0, RETRIES);
        List<CompletableFuture<Long>> waiting = new ArrayList<>();
        for (int i = 0; i < BatchSequence.MAX_WAITING; i++) {
            waiting.add(batch.next().subscribeAsCompletionStage());
        }
        assertThat(waiting).noneMatch(CompletableFuture::isDone);
        assertThatThrownBy(() -> batch.next().await().indefinitely())
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        e -> assertThat(e.problem().type()).isEqualTo(ProblemType.QUEUE_FULL));
    }
}
