package dev.annals.kernel.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.mutiny.subscription.Cancellable;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class MemoryBudgetTest {

    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Vertx VERTX = Vertx.vertx();

    private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();

    @AfterAll
    static void close() {
        VERTX.close().toCompletionStage().toCompletableFuture().join();
    }

    /** 1,000 bytes, of which one holder may have 400. */
    private MemoryBudget budget(int waiting, Duration wait) {
        return new MemoryBudget(new Settings(1_000, 400, wait), waiting, VERTX, metrics);
    }

    private record Settings(long bytes, long callerBytes, Duration maxWait) implements MemoryConfig {}

    private long callerBytes(long bytes, long callerBytes) {
        return new MemoryBudget(new Settings(bytes, callerBytes, LONG), 1, VERTX, metrics).holderLimit();
    }

    @Test
    void aHolderCannotTakeMoreThanItsShareAndAllNotMoreThanThereIs() {
        MemoryBudget budget = budget(10, LONG);
        assertThat(budget.tryTake("a", 401)).isFalse();
        assertThat(budget.tryTake("a", 400)).isTrue();
        assertThat(budget.tryTake("a", 1)).isFalse();
        assertThat(budget.tryTake("b", 400)).isTrue();
        assertThat(budget.tryTake("c", 201)).isFalse();
        assertThat(budget.tryTake("c", 200)).isTrue();
        assertThat(metrics.get("annals.memory.held.bytes").gauge().value()).isEqualTo(1_000);

        budget.give("a", 400);
        budget.give("b", 400);
        budget.give("c", 200);
        assertThat(budget.held()).isZero();
        assertThat(budget.tryTake("c", 400)).isTrue();
    }

    @Test
    void aCallersShareIsAQuarterOrOneLargestBodyUnlessItIsSetAndNeverMoreThanThereIs() {
        assertThat(callerBytes(1_000, 700)).isEqualTo(700);
        assertThat(callerBytes(1_000, 7_000)).isEqualTo(1_000);
        assertThat(callerBytes(1L << 30, 0)).isEqualTo(1L << 28);
        assertThat(callerBytes(1L << 27, 0)).isEqualTo(1L << 26);
    }

    @Test
    void withoutASettingItIsAShareOfTheHeap() {
        assertThat(new MemoryBudget(new Settings(0, 1, LONG), 1, VERTX, metrics).limit())
                .isEqualTo(Runtime.getRuntime().maxMemory() / 100 * 35);
    }

    @Test
    void aReservationIsGivenBackOnceHoweverOftenItIsClosed() {
        MemoryBudget budget = budget(10, LONG);
        assertThat(budget.tryTake("a", 100)).isTrue();
        Reservation reservation = budget.tryReserve("a", 200);
        assertThat(reservation.tryGrow(101)).isFalse();
        assertThat(reservation.tryGrow(100)).isTrue();
        reservation.shrinkTo(50);
        reservation.shrinkTo(60);
        assertThat(reservation.bytes()).isEqualTo(50);
        assertThat(budget.held()).isEqualTo(150);
        reservation.close();
        reservation.close();
        assertThat(reservation.tryGrow(1)).isFalse();
        assertThat(budget.held()).isEqualTo(100);
    }

    @Test
    void waitingRequestsAreServedInTurnAndNotDelayedByAHolderAtItsLimit() {
        MemoryBudget budget = budget(10, LONG);
        assertThat(budget.tryTake("a", 400)).isTrue();
        assertThat(budget.tryTake("b", 400)).isTrue();
        CompletableFuture<Reservation> sameHolder = take(budget, "a", 100);
        CompletableFuture<Reservation> large = take(budget, "c", 300);
        CompletableFuture<Reservation> small = take(budget, "d", 200);
        assertThat(List.of(sameHolder, large, small)).noneMatch(CompletableFuture::isDone);

        budget.give("b", 100);
        assertThat(large).isCompleted();
        assertThat(small).isNotDone();
        budget.give("b", 300);
        assertThat(small).isCompleted();
        assertThat(sameHolder).isNotDone();
        budget.give("a", 100);
        assertThat(sameHolder).isCompleted();
    }

    @Test
    void aRequestThatWaitsTooLongIsRefusedAndDelaysNoOther() {
        MemoryBudget budget = budget(10, Duration.ofMillis(50));
        assertThat(budget.tryTake("a", 400)).isTrue();
        assertThat(budget.tryTake("b", 400)).isTrue();
        assertOverloaded(take(budget, "c", 300));
        assertThat(take(budget, "c", 200).orTimeout(30, TimeUnit.SECONDS).join().bytes())
                .isEqualTo(200);
    }

    @Test
    void onlySoManyRequestsWaitAndNoneForMoreThanThereIs() {
        MemoryBudget budget = budget(1, LONG);
        assertOverloaded(take(budget, "a", 401));
        assertThat(budget.tryTake("a", 400)).isTrue();
        CompletableFuture<Reservation> first = take(budget, "a", 1);
        assertOverloaded(take(budget, "a", 1));
        budget.give("a", 400);
        assertThat(first).isCompleted();
    }

    @Test
    void anAbandonedRequestHoldsNothing() {
        MemoryBudget budget = budget(10, LONG);
        assertThat(budget.tryTake("a", 400)).isTrue();
        Cancellable waiting = budget.take("a", 300).subscribe().with(reservation -> {});
        waiting.cancel();
        budget.give("a", 400);
        assertThat(budget.held()).isZero();
    }

    @Test
    void nothingIsLostAndNothingExceededWhereManyTakeAtOnce() throws Exception {
        MemoryBudget budget = budget(100, LONG);
        AtomicLong most = new AtomicLong();
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Callable<Void>> calls = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                String holder = "holder " + i % 3;
                calls.add(() -> {
                    for (int round = 0; round < 2_000; round++) {
                        long bytes = 1L + ThreadLocalRandom.current().nextInt(400);
                        try (Reservation taken = take(budget, holder, bytes)
                                .orTimeout(60, TimeUnit.SECONDS)
                                .join()) {
                            most.accumulateAndGet(budget.held(), Math::max);
                            taken.shrinkTo(bytes / 2);
                        }
                    }
                    return null;
                });
            }
            for (Future<Void> call : threads.invokeAll(calls)) {
                call.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(budget.held()).isZero();
        assertThat(most.get()).isPositive().isLessThanOrEqualTo(budget.limit());
    }

    @Test
    void aRequestForMoreThanThereIsTakesNothingFromOthersNotEvenForAMoment() throws Exception {
        MemoryBudget budget = budget(10, LONG);
        assertThat(budget.tryTake("most", 400)).isTrue();
        assertThat(budget.tryTake("more", 400)).isTrue();
        AtomicBoolean over = new AtomicBoolean();
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<?>> tooLarge = new ArrayList<>();
            for (String holder : List.of("a", "b")) {
                tooLarge.add(threads.submit(() -> {
                    while (!over.get()) {
                        assertThat(budget.tryTake(holder, 201)).isFalse();
                    }
                }));
            }
            for (int round = 0; round < 300_000; round++) {
                assertThat(budget.tryTake("small", 200)).as("round %d", round).isTrue();
                budget.give("small", 200);
            }
            over.set(true);
            for (Future<?> one : tooLarge) {
                one.get();
            }
        } finally {
            over.set(true);
            threads.shutdownNow();
        }
    }

    private static CompletableFuture<Reservation> take(MemoryBudget budget, String holder, long bytes) {
        return budget.take(holder, bytes).subscribeAsCompletionStage();
    }

    private static void assertOverloaded(CompletableFuture<Reservation> taken) {
        assertThatThrownBy(() -> taken.orTimeout(30, TimeUnit.SECONDS).join())
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(NoMemoryException.class);
    }
}
