package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.config.Settings;
import io.smallrye.mutiny.Uni;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The queue with a store whose batches the test ends. */
@Timeout(60)
class AppendQueueTest {

    private static final int QUEUE = 10;
    private static final UUID TOKEN = UUID.randomUUID();
    private static final OffsetDateTime NOW = OffsetDateTime.of(2026, 3, 1, 12, 0, 0, 0, ZoneOffset.UTC);

    private final UUID project = UUID.randomUUID();
    private final UUID other = UUID.randomUUID();
    private final List<Batch> batches = new ArrayList<>();
    private long now;
    private final AppendQueue queues = new AppendQueue(
            store(requests -> {
                Batch batch = new Batch(requests, new CompletableFuture<>());
                batches.add(batch);
                return Uni.createFrom().completionStage(batch.end());
            }),
            config().writers(),
            new Small(),
            new AppendQueue.Room(config().totalQueueBytes(), 1),
            () -> now);

    /** A store that writes shared and own batches alike. */
    private AppendQueue.Store store(Function<List<AppendRequest>, Uni<Runnable>> write) {
        return new AppendQueue.Store() {
            @Override
            public boolean hasLeft(UUID projectId) {
                return false;
            }

            @Override
            public Uni<Runnable> writeShared(List<AppendRequest> requests) {
                return write.apply(requests);
            }

            @Override
            public Uni<Runnable> writeOwn(List<AppendRequest> requests, @Nullable Throwable failure) {
                assertThat(requests).extracting(request -> request.key).containsOnly(requests.get(0).key);
                return write.apply(requests);
            }
        };
    }

    /** A batch in flight. */
    private record Batch(List<AppendRequest> requests, CompletableFuture<Runnable> end) {

        void succeed() {
            end.complete(this::giveOutcomes);
        }

        void giveOutcomes() {
            List<StoredRecord> stored = new ArrayList<>();
            requests.forEach(request ->
                    request.records.forEach(record -> stored.add(new StoredRecord(record, 1, NOW, "role:test"))));
            AppendRequest.succeed(requests, stored);
        }
    }

    private static AppendConfig config() {
        return Settings.of(
                AppendConfig.class, Map.of("annals.append.total-queue-bytes", "150000", "annals.append.writers", "2"));
    }

    private static final class Small extends AppendBounds {

        @Override
        public int queueRequests() {
            return QUEUE;
        }

        @Override
        public long queueBytes() {
            return 100_000;
        }

        @Override
        public int batchRecords() {
            return 20;
        }

        @Override
        public long batchBytes() {
            return 90_000;
        }

        @Override
        public int batchProjects() {
            return 3;
        }
    }

    private AppendRequest request(UUID projectId, int records, long bytes, boolean numbered) {
        List<AuditRecord> made = new ArrayList<>();
        for (int i = 0; i < records; i++) {
            made.add(new AuditRecord(
                    UUID.randomUUID(),
                    false,
                    "a",
                    null,
                    null,
                    null,
                    null,
                    null,
                    NOW,
                    false,
                    null,
                    numbered ? "s" : null,
                    false));
        }
        return new AppendRequest(projectId, TOKEN, made, bytes);
    }

    private AppendRequest append(int records, long bytes) {
        return append(request(project, records, bytes, false));
    }

    private AppendRequest append(AppendRequest request) {
        assertThat(queues.append(request)).isSameAs(request.outcome);
        return request;
    }

    private AppendRequest append() {
        return append(1, 100);
    }

    private static void assertStored(Collection<AppendRequest> requests) {
        assertThat(requests)
                .allSatisfy(request -> assertThat(request.outcome)
                        .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.Stored stored
                                && stored.added() == request.records.size()));
    }

    private static void assertRefused(AppendRequest request, String why) {
        assertThat(request.outcome)
                .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.QueueFull full
                        && full.why().contains(why));
    }

    @Test
    void aLoneRequestIsWrittenAtOnceAndLeavesNoQueue() {
        AppendRequest lone = append();
        assertThat(batches).hasSize(1);
        assertThat(batches.get(0).requests()).containsExactly(lone);
        batches.get(0).succeed();
        assertStored(List.of(lone));
        assertThat(queuedProjects()).isZero();
        append();
        assertThat(batches).hasSize(2);
    }

    @Test
    void requestsThatArriveDuringABatchAreWrittenInTheNextInTheirOrder() {
        AppendRequest first = append();
        List<AppendRequest> gathered = new ArrayList<>();
        for (int i = 0; i < QUEUE; i++) {
            gathered.add(append());
        }
        assertThat(batches).hasSize(1);
        batches.get(0).succeed();
        assertStored(List.of(first));
        assertThat(batches).hasSize(2);
        assertThat(batches.get(1).requests()).containsExactlyElementsOf(gathered);
        batches.get(1).succeed();
        assertStored(gathered);
        assertThat(batches).hasSize(2);
    }

    @Test
    void theNextBatchStartsBeforeTheOutcomesOfTheLastAreGiven() {
        append();
        append();
        boolean[] underWay = {false};
        batches.get(0).end().complete(() -> {
            underWay[0] = batches.size() == 2;
            batches.get(0).giveOutcomes();
        });
        assertThat(underWay[0]).isTrue();
    }

    @Test
    void queuesDoNotWaitForOneAnother() {
        append();
        append(request(project, 1, 100, true));
        append(request(other, 1, 100, false));
        append(request(other, 1, 100, true));
        assertThat(batches).hasSize(4);
        assertThat(queuedProjects()).isEqualTo(4);
    }

    /** Two writers: requests that gather while both are busy share a batch, the longest wait first. */
    @Test
    void queuesThatWaitShareABatchUpToItsLimits() {
        append();
        append(request(other, 1, 100, false));
        List<AppendRequest> waiting = new ArrayList<>();
        List<UUID> projects = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            projects.add(UUID.randomUUID());
            waiting.add(append(request(projects.get(i), 1, 100, false)));
        }
        AppendRequest second = append(request(projects.get(0), 1, 100, false));
        AppendRequest large = append(request(projects.get(4), 19, 100, false));
        assertThat(batches).hasSize(2);

        batches.get(0).succeed();
        assertThat(batches.get(2).requests()).containsExactly(waiting.get(0), second, waiting.get(1), waiting.get(2));
        batches.get(1).succeed();
        assertThat(batches.get(3).requests()).containsExactly(waiting.get(3), waiting.get(4));
        batches.get(2).succeed();
        assertThat(batches).hasSize(4);
        batches.get(3).succeed();
        assertThat(batches.get(4).requests()).containsExactly(large);
        batches.get(4).succeed();
        assertStored(waiting);
        assertStored(List.of(second, large));
        assertThat(queuedProjects()).isZero();
    }

    @Test
    void aQueueInFlightIsInNoOtherBatch() {
        AppendRequest first = append();
        AppendRequest next = append();
        AppendRequest others = append(request(other, 1, 100, false));
        assertThat(batches).extracting(Batch::requests).containsExactly(List.of(first), List.of(others));
        batches.get(1).succeed();
        assertThat(batches).hasSize(2);
        batches.get(0).succeed();
        assertThat(batches.get(2).requests()).containsExactly(next);
    }

    /** One writer at most is busy with a project, however much it sends. */
    @Test
    void aProjectThatFloodsItsQueueDelaysNoOther() {
        for (int i = 0; i < QUEUE; i++) {
            append(20, 100);
        }
        for (int round = 0; round < QUEUE; round++) {
            AppendRequest trickling = append(request(other, 1, 100, false));
            Batch last = batches.get(batches.size() - 1);
            assertThat(last.requests()).containsExactly(trickling);
            last.succeed();
            if (round % 2 == 0) {
                // The next batch of the flood begins, with the other writer.
                floodUnderWay().succeed();
            }
        }
    }

    private Batch floodUnderWay() {
        List<Batch> underWay = batches.stream()
                .filter(batch -> !batch.end().isDone()
                        && batch.requests().get(0).key.projectId().equals(project))
                .toList();
        assertThat(underWay).hasSize(1);
        return underWay.get(0);
    }

    /** If more projects flood the queue than it has writers, each has its turn before any has a second one. */
    @Test
    void eachProjectThatFloodsItsQueueHasOneBatchAtMostBeforeARecordOfAnother() {
        List<UUID> flooding = List.of(project, UUID.randomUUID(), UUID.randomUUID(), UUID.randomUUID());
        for (int i = 0; i < QUEUE / 2; i++) {
            flooding.forEach(key -> append(request(key, 20, 100, false)));
        }
        AppendRequest trickling = append(request(other, 1, 100, false));
        List<UUID> before = new ArrayList<>();
        for (int next = 0; !trickling.outcome.isDone(); next++) {
            Batch batch = batches.get(next);
            batch.requests().forEach(request -> before.add(request.key.projectId()));
            batch.succeed();
        }
        assertThat(before.subList(0, before.indexOf(other))).doesNotHaveDuplicates();
    }

    /** Gives requests of three queues that gathered while two batches were in flight, and are the third. */
    private List<AppendRequest> gatherThreeQueues() {
        append();
        append(request(other, 1, 100, false));
        List<AppendRequest> gathered = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            gathered.add(append(request(UUID.randomUUID(), 1, 100, false)));
        }
        batches.get(0).succeed();
        return gathered;
    }

    @Test
    void queuesThatCannotShareABatchGetTheirOwnAndNoneWaitsForAnother() {
        List<AppendRequest> gathered = gatherThreeQueues();
        Exception locked = new AppendQueue.NotSharedException(new IllegalStateException("locked"));
        batches.get(2).end().completeExceptionally(locked);
        assertThat(batches).hasSize(4);
        assertThat(batches.get(3).requests()).containsExactly(gathered.get(0));
        batches.get(3).end().completeExceptionally(locked);
        // The first is on its own, and the writer has the next.
        assertThat(batches.get(4).requests()).containsExactly(gathered.get(0));
        assertThat(batches.get(5).requests()).containsExactly(gathered.get(1));
        AppendRequest behind = append(request(gathered.get(0).key.projectId(), 1, 100, false));
        AppendRequest next = append(request(gathered.get(1).key.projectId(), 1, 100, false));
        batches.get(5).succeed();
        assertStored(List.of(gathered.get(1)));
        assertThat(batches.get(6).requests()).containsExactly(gathered.get(2));
        batches.get(6).succeed();
        assertThat(batches.get(7).requests()).containsExactly(next);
        batches.get(7).succeed();
        assertStored(List.of(gathered.get(2), next));
        assertThat(behind.outcome).isNotDone();
        batches.get(4).succeed();
        batches.get(8).succeed();
        assertStored(List.of(gathered.get(0), behind));
    }

    @Test
    void ifABatchFailsBecauseOfSomeQueuesOnlyTheseGetTheirOwn() {
        List<AppendRequest> together = gatherThreeQueues();
        AppendQueue.Key failed = together.get(1).key;
        batches.get(2)
                .end()
                .completeExceptionally(
                        new AppendQueue.NotSharedException(new IllegalStateException("taken"), Set.of(failed)));
        assertThat(batches).hasSize(4);
        assertThat(batches.get(3).requests()).containsExactly(together.get(1));
        AppendRequest behind = append(request(failed.projectId(), 1, 100, false));
        AppendRequest next = append(request(together.get(0).key.projectId(), 1, 100, false));
        assertThat(batches).hasSize(5);
        assertThat(batches.get(4).requests()).containsExactly(next);
        batches.get(3).succeed();
        batches.get(4).succeed();
        assertThat(batches.get(5).requests()).containsExactly(behind);
        batches.get(5).succeed();
        assertStored(List.of(behind, next, together.get(1)));
    }

    /** A request that made a shared batch fail spoils none of the next. */
    @Test
    void aQueueThatCoolsDownSharesNoBatchAndOccupiesNoWriter() {
        AppendRequest first = append();
        AppendRequest waiting = append();
        first.spoilBatch();
        append(request(other, 1, 100, false));
        AppendRequest together = append(request(UUID.randomUUID(), 1, 100, false));
        batches.get(0).succeed();
        assertThat(batches).hasSize(4);
        assertThat(batches.get(2).requests()).containsExactly(waiting);
        assertThat(batches.get(3).requests()).containsExactly(together);
        AppendRequest behind = append();
        now += TimeUnit.SECONDS.toNanos(2);
        batches.get(2).succeed();
        assertStored(List.of(first, waiting));
        batches.get(3).succeed();
        assertThat(batches.get(4).requests()).containsExactly(behind);
    }

    @Test
    void aFullQueueRefusesRequestsAtOnceAndFailsTheirSeries() {
        append();
        List<AppendRequest> waiting = new ArrayList<>();
        for (int i = 0; i < QUEUE; i++) {
            waiting.add(append());
        }
        AppendRequest.Series series = new AppendRequest.Series();
        AppendRequest tooMany =
                append(new AppendRequest(project, TOKEN, request(project, 1, 100, false).records, 100, series));
        assertRefused(tooMany, "Too many records of this project");
        assertThat(series.hasFailed()).isTrue();
        batches.get(0).succeed();
        append();
        batches.get(1).succeed();
        assertStored(waiting);
    }

    @Test
    void aQueueAndAllQueuesTogetherHaveALimitOfBytes() {
        append();
        append(1, 60_000);
        assertRefused(append(1, 60_000), "Too many records of this project");
        append(request(other, 1, 100, false));
        append(request(other, 1, 60_000, false));
        assertRefused(append(request(other, 1, 35_000, false)), "Too many records are waiting");
        AppendRequest small = append(request(other, 1, 100, false));
        assertThat(small.outcome).isNotDone();
        assertThat(queuedBytes()).isEqualTo(120_100);
        for (int i = 0; i < batches.size(); i++) {
            batches.get(i).succeed();
        }
        assertStored(List.of(small));
        assertThat(queuedBytes()).isZero();
    }

    @Test
    void aDatabaseThatDoesNotAnswerLeavesAsMuchRoomAsItTakes() {
        AppendQueue.Room room = new AppendQueue.Room(150_000, 2);
        AppendQueue dead = silent(room);
        AppendQueue alive = silent(room);
        // The writers have a batch each.
        for (UUID each : List.of(project, other)) {
            assertThat(dead.append(request(each, 1, 100, false))).isNotDone();
            assertThat(alive.append(request(each, 1, 100, false))).isNotDone();
        }
        assertThat(dead.append(request(project, 1, 75_000, false))).isNotDone();
        AppendRequest more = request(other, 1, 100, false);
        var unused = dead.append(more);
        assertRefused(more, "Too many records are waiting");
        assertThat(alive.append(request(project, 1, 37_500, false))).isNotDone();
        assertThat(dead.bytes()).isEqualTo(75_000);
        assertThat(alive.bytes()).isEqualTo(37_500);
    }

    private AppendQueue silent(AppendQueue.Room room) {
        return new AppendQueue(store(requests -> Uni.createFrom().nothing()), 2, new Small(), room, () -> now);
    }

    @Test
    void aBatchHasLimitsOfRecordsAndBytesAndNeverSplitsARequest() {
        append();
        List<List<AppendRequest>> wanted = List.of(
                List.of(append(15, 100)),
                List.of(append(15, 100)),
                List.of(append(30, 100)),
                List.of(append(19, 100), append(1, 100)),
                List.of(append(1, 89_900)),
                List.of(append(1, 200)));
        for (int i = 0; i <= wanted.size(); i++) {
            batches.get(i).succeed();
        }
        assertThat(batches.subList(1, batches.size()))
                .extracting(Batch::requests)
                .isEqualTo(wanted);
    }

    @Test
    void aBatchThatFailsFailsItsRequestsAndDelaysNoOther() {
        AppendRequest failed = append();
        AppendRequest next = append();
        IllegalStateException failure = new IllegalStateException("of the test");
        batches.get(0).end().completeExceptionally(failure);
        assertThat(failed.outcome)
                .isCompletedWithValueMatching(
                        outcome -> outcome instanceof AppendOutcome.Failed f && f.cause() == failure);
        batches.get(1).succeed();
        assertStored(List.of(next));
    }

    @Test
    void aBatchThatThrowsFailsItsRequests() {
        AppendQueue throwing = new AppendQueue(
                store(requests -> {
                    throw new IllegalStateException("of the test");
                }),
                config().writers(),
                new Small(),
                new AppendQueue.Room(config().totalQueueBytes(), 1),
                System::nanoTime);
        for (int i = 0; i < 3; i++) {
            assertThat(throwing.append(request(project, 1, 100, false)))
                    .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.Failed);
        }
    }

    @Test
    void aCallerThatLearnsOfAFailureFindsTheNextOfTheSeriesNotWritten() {
        AppendRequest.Series series = new AppendRequest.Series();
        AppendRequest first =
                append(new AppendRequest(project, TOKEN, request(project, 1, 1, false).records, 1, series));
        AppendRequest second =
                append(new AppendRequest(project, TOKEN, request(project, 1, 1, false).records, 1, series));
        first.fail(new AppendOutcome.Unavailable("of the test"));
        batches.get(0).end().complete(() -> {});
        assertThat(AppendRequest.open(batches.get(1).requests())).isEmpty();
        assertThat(second.outcome)
                .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.EarlierFailed);
    }

    @Test
    void onceStoppedNewRequestsAreRefusedAndWaitingOnesAreWritten() {
        AppendRequest first = append();
        AppendRequest waiting = append();
        queues.stop();
        AppendRequest late = append();
        assertThat(late.outcome)
                .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.Unavailable unavailable
                        && unavailable.why().contains("stopping"));
        batches.get(0).succeed();
        batches.get(1).succeed();
        assertStored(List.of(first, waiting));
    }

    /** Many callers and batches of which some fail: one outcome for each request, and one batch of a queue at a time. */
    @Test
    void underLoadEveryRequestGetsAnOutcomeAndNoQueueTwoBatches() throws Exception {
        Map<AppendQueue.Key, Boolean> underWay = new ConcurrentHashMap<>();
        List<UUID> projects = List.of(project, other, UUID.randomUUID(), UUID.randomUUID(), UUID.randomUUID());
        List<String> faults = Collections.synchronizedList(new ArrayList<>());
        ExecutorService database = Executors.newFixedThreadPool(4);
        ExecutorService writers = Executors.newFixedThreadPool(8);
        try {
            AppendQueue loaded = new AppendQueue(
                    store(requests -> {
                        Set<AppendQueue.Key> keys =
                                requests.stream().map(request -> request.key).collect(Collectors.toSet());
                        for (AppendQueue.Key key : keys) {
                            if (underWay.put(key, true) != null) {
                                faults.add("two batches of " + key);
                            }
                        }
                        return Uni.createFrom()
                                .completionStage(CompletableFuture.supplyAsync(
                                        () -> {
                                            underWay.keySet().removeAll(keys);
                                            if (keys.size() > 1 && requests.size() % 5 == 3) {
                                                throw new AppendQueue.NotSharedException(
                                                        new IllegalStateException("of the test"));
                                            }
                                            if (requests.size() % 7 == 3) {
                                                throw new IllegalStateException("of the test");
                                            }
                                            return new Batch(requests, new CompletableFuture<>())::giveOutcomes;
                                        },
                                        database));
                    }),
                    config().writers(),
                    new Small(),
                    new AppendQueue.Room(config().totalQueueBytes(), 1),
                    System::nanoTime);
            List<Future<List<AppendRequest>>> sent = new ArrayList<>();
            for (int writer = 0; writer < 8; writer++) {
                Random random = new Random(writer);
                sent.add(writers.submit(() -> {
                    List<AppendRequest> own = new ArrayList<>();
                    for (int i = 0; i < 2_000; i++) {
                        AppendRequest request = request(
                                projects.get(random.nextInt(projects.size())),
                                1 + random.nextInt(3),
                                100,
                                random.nextBoolean());
                        var unused = loaded.append(request);
                        own.add(request);
                    }
                    return own;
                }));
            }
            for (Future<List<AppendRequest>> own : sent) {
                for (AppendRequest request : own.get(30, TimeUnit.SECONDS)) {
                    assertThat(request.outcome.get(30, TimeUnit.SECONDS)).isNotNull();
                }
            }
        } finally {
            writers.shutdownNow();
            database.shutdownNow();
        }
        assertThat(faults).isEmpty();
    }

    private long queuedBytes() {
        return queues.bytes();
    }

    private long queuedProjects() {
        return queues.size();
    }
}
