package dev.annals.append;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.record.AuditRecord;
import dev.annals.record.StoredRecord;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.config.SmallRyeConfigBuilder;
import io.smallrye.mutiny.Uni;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The queues before a flush function that the test ends when it likes. */
@Timeout(60)
class ProjectQueuesTest {

    private static final int QUEUE = 10;
    private static final UUID TOKEN = UUID.randomUUID();
    private static final OffsetDateTime NOW = OffsetDateTime.of(2026, 3, 1, 12, 0, 0, 0, ZoneOffset.UTC);

    private final UUID project = UUID.randomUUID();
    private final UUID other = UUID.randomUUID();
    private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
    private final List<Flush> flushes = new ArrayList<>();
    private final ProjectQueues queues = new ProjectQueues(
            requests -> {
                Flush flush = new Flush(requests, new CompletableFuture<>());
                flushes.add(flush);
                return Uni.createFrom().completionStage(flush.end());
            },
            config(),
            metrics);

    /** A flush that is under way. */
    private record Flush(List<AppendRequest> requests, CompletableFuture<Runnable> end) {

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
        Map<String, String> limits = Map.of(
                "annals.append.queue-requests", Integer.toString(QUEUE),
                "annals.append.queue-bytes", "100000",
                "annals.append.total-queue-bytes", "150000",
                "annals.append.batch-records", "20",
                "annals.append.batch-bytes", "90000");
        SmallRyeConfigBuilder builder =
                new SmallRyeConfigBuilder().addDiscoveredConverters().withMapping(AppendConfig.class);
        limits.forEach(builder::withDefaultValue);
        return builder.build().getConfigMapping(AppendConfig.class);
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
                    numbered ? "s" : null));
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

    private static void assertTurnedAway(AppendRequest request, String why) {
        assertThat(request.outcome)
                .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.QueueFull full
                        && full.why().contains(why));
    }

    @Test
    void aLoneRequestIsWrittenAtOnceAndLeavesNoQueue() {
        AppendRequest lone = append();
        assertThat(flushes).hasSize(1);
        assertThat(flushes.get(0).requests()).containsExactly(lone);
        flushes.get(0).succeed();
        assertStored(List.of(lone));
        assertThat(queuedProjects()).isZero();
        append();
        assertThat(flushes).hasSize(2);
    }

    @Test
    void whatArrivesDuringAFlushIsWrittenTogetherInTheNextInItsOrder() {
        AppendRequest first = append();
        List<AppendRequest> gathered = new ArrayList<>();
        for (int i = 0; i < QUEUE; i++) {
            gathered.add(append());
        }
        assertThat(flushes).hasSize(1);
        flushes.get(0).succeed();
        assertStored(List.of(first));
        assertThat(flushes).hasSize(2);
        assertThat(flushes.get(1).requests()).containsExactlyElementsOf(gathered);
        flushes.get(1).succeed();
        assertStored(gathered);
        assertThat(flushes).hasSize(2);
    }

    @Test
    void theNextFlushIsUnderWayBeforeTheOutcomesOfTheLastAreGiven() {
        append();
        append();
        boolean[] underWay = {false};
        flushes.get(0).end().complete(() -> {
            underWay[0] = flushes.size() == 2;
            flushes.get(0).giveOutcomes();
        });
        assertThat(underWay[0]).isTrue();
    }

    @Test
    void lanesDoNotWaitForOneAnother() {
        append();
        append(request(project, 1, 100, true));
        append(request(other, 1, 100, false));
        append(request(other, 1, 100, true));
        assertThat(flushes).hasSize(4);
        assertThat(queuedProjects()).isEqualTo(4);
    }

    @Test
    void aFullQueueTurnsRequestsAwayAtOnceAndBreaksTheirChain() {
        append();
        List<AppendRequest> waiting = new ArrayList<>();
        for (int i = 0; i < QUEUE; i++) {
            waiting.add(append());
        }
        Chain chain = new Chain();
        AppendRequest tooMany =
                append(new AppendRequest(project, TOKEN, request(project, 1, 100, false).records, 100, chain));
        assertTurnedAway(tooMany, "Too many records of this project");
        assertThat(chain.isBroken()).isTrue();
        flushes.get(0).succeed();
        append();
        flushes.get(1).succeed();
        assertStored(waiting);
    }

    @Test
    void aQueueTakesSoManyBytesAndAllQueuesTogetherSoMany() {
        append();
        append(1, 60_000);
        assertTurnedAway(append(1, 60_000), "Too many records of this project");
        append(request(other, 1, 100, false));
        append(request(other, 1, 60_000, false));
        assertTurnedAway(append(request(other, 1, 35_000, false)), "Too many records are waiting");
        AppendRequest small = append(request(other, 1, 100, false));
        assertThat(small.outcome).isNotDone();
        assertThat(queuedBytes()).isEqualTo(120_100);
        for (int i = 0; i < flushes.size(); i++) {
            flushes.get(i).succeed();
        }
        assertStored(List.of(small));
        assertThat(queuedBytes()).isZero();
    }

    @Test
    void aFlushTakesSoManyRecordsAndBytesAndNeverCutsARequest() {
        append();
        List<List<AppendRequest>> wanted = List.of(
                List.of(append(15, 100)),
                List.of(append(15, 100)),
                List.of(append(30, 100)),
                List.of(append(19, 100), append(1, 100)),
                List.of(append(1, 89_900)),
                List.of(append(1, 200)));
        for (int i = 0; i <= wanted.size(); i++) {
            flushes.get(i).succeed();
        }
        assertThat(flushes.subList(1, flushes.size()))
                .extracting(Flush::requests)
                .isEqualTo(wanted);
    }

    @Test
    void aFlushThatFailsFailsItsRequestsAndHoldsNobodyUp() {
        AppendRequest failed = append();
        AppendRequest next = append();
        IllegalStateException failure = new IllegalStateException("of the test");
        flushes.get(0).end().completeExceptionally(failure);
        assertThat(failed.outcome)
                .isCompletedWithValueMatching(
                        outcome -> outcome instanceof AppendOutcome.Failed f && f.cause() == failure);
        flushes.get(1).succeed();
        assertStored(List.of(next));
    }

    @Test
    void soDoesOneThatThrows() {
        ProjectQueues throwing = new ProjectQueues(
                requests -> {
                    throw new IllegalStateException("of the test");
                },
                config(),
                metrics);
        for (int i = 0; i < 3; i++) {
            assertThat(throwing.append(request(project, 1, 100, false)))
                    .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.Failed);
        }
    }

    @Test
    void whoeverLearnsThatARequestFailedFindsTheNextOfItsChainNotWritten() {
        Chain chain = new Chain();
        AppendRequest first =
                append(new AppendRequest(project, TOKEN, request(project, 1, 1, false).records, 1, chain));
        AppendRequest second =
                append(new AppendRequest(project, TOKEN, request(project, 1, 1, false).records, 1, chain));
        first.fail(new AppendOutcome.Unavailable("of the test"));
        flushes.get(0).end().complete(() -> {});
        assertThat(AppendRequest.open(flushes.get(1).requests())).isEmpty();
        assertThat(second.outcome)
                .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.ChainBroken);
    }

    @Test
    void onceStoppedNewRequestsAreTurnedAwayAndWaitingOnesAreWritten() {
        AppendRequest first = append();
        AppendRequest waiting = append();
        queues.stop();
        AppendRequest late = append();
        assertThat(late.outcome)
                .isCompletedWithValueMatching(outcome -> outcome instanceof AppendOutcome.Unavailable unavailable
                        && unavailable.why().contains("stopping"));
        flushes.get(0).succeed();
        flushes.get(1).succeed();
        assertStored(List.of(first, waiting));
    }

    /** Many writers, flushes of which some fail: one outcome for each request, and one flush of a lane at a time. */
    @Test
    void underLoadEveryRequestGetsAnOutcomeAndNoLaneTwoFlushes() throws Exception {
        Map<Lane, Boolean> underWay = new ConcurrentHashMap<>();
        List<String> faults = Collections.synchronizedList(new ArrayList<>());
        ExecutorService database = Executors.newFixedThreadPool(4);
        ExecutorService writers = Executors.newFixedThreadPool(8);
        try {
            ProjectQueues loaded = new ProjectQueues(
                    requests -> {
                        Lane lane = requests.get(0).lane;
                        if (underWay.put(lane, true) != null) {
                            faults.add("two flushes of " + lane);
                        }
                        return Uni.createFrom()
                                .completionStage(CompletableFuture.supplyAsync(
                                        () -> {
                                            underWay.remove(lane);
                                            if (requests.size() % 7 == 3) {
                                                throw new IllegalStateException("of the test");
                                            }
                                            return new Flush(requests, new CompletableFuture<>())::giveOutcomes;
                                        },
                                        database));
                    },
                    config(),
                    metrics);
            List<Future<List<AppendRequest>>> sent = new ArrayList<>();
            for (int writer = 0; writer < 8; writer++) {
                Random random = new Random(writer);
                sent.add(writers.submit(() -> {
                    List<AppendRequest> own = new ArrayList<>();
                    for (int i = 0; i < 2_000; i++) {
                        AppendRequest request = request(
                                random.nextBoolean() ? project : other,
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

    private double queuedBytes() {
        return metrics.get("annals.append.queue.bytes").gauge().value();
    }

    private double queuedProjects() {
        return metrics.get("annals.append.queue.projects").gauge().value();
    }
}
