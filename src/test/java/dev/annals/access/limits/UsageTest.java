package dev.annals.access.limits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.http.ProblemException;
import io.github.bucket4j.TimeMeter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A caller stays within its limit on average, is never refused for good, and takes no memory while idle. */
@BesideTheService
class UsageTest {

    private static final long SECOND = 1_000_000_000;

    private final AtomicLong now = new AtomicLong(1_000 * SECOND);
    private final Usage usage = new Usage(new TimeMeter() {
        @Override
        public long currentTimeNanos() {
            return now.get();
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    });
    private final UUID project = UUID.randomUUID();

    private Caller caller(Limits ofProject, Limits ofToken) {
        return new Caller(
                project,
                Set.of(Scope.READ, Scope.WRITE),
                UUID.randomUUID(),
                false,
                List.of(),
                ofProject,
                ofToken,
                null,
                null,
                0);
    }

    private static Limits limits(Limit limit, long value) {
        return new Limits(Map.of(limit, value));
    }

    private static void assertExceeded(String limit, long retryAfter, Runnable use) {
        assertThatThrownBy(use::run)
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        refused -> assertThat(refused.problem().members())
                                .containsEntry("limit", limit)
                                .containsEntry("retry_after", retryAfter));
    }

    @Test
    void overAnyTimeTheRateIsKeptToHoweverLargeTheRequestsAre() {
        Caller caller = caller(limits(Limit.RECORDS_PER_SECOND, 100), Limits.NONE);
        long appended = 0;
        for (int step = 0; step < 1_000; step++) {
            long records = 1 + step * 37L % 400;
            if (usage.appendInTurn(caller, records, 1) == null) {
                appended += records;
            }
            now.addAndGet(SECOND / 10);
        }
        assertThat(appended).as("in 100 seconds").isBetween(100 * 100 - 100L, 100 * 100 + 100L + 400L);
    }

    @Test
    void aBatchOfSeveralSecondsIsAcceptedAndTheNextOneLearnsHowLongToWait() {
        Caller caller = caller(limits(Limit.RECORDS_PER_SECOND, 10), Limits.NONE);
        usage.append(caller, 100, 1);
        assertExceeded("project-records", 10, () -> usage.append(caller, 1, 1));
        now.addAndGet(9 * SECOND);
        assertExceeded("project-records", 1, () -> usage.requireRoom(caller));
        now.addAndGet(SECOND);
        assertThatCode(() -> usage.append(caller, 1, 1)).doesNotThrowAnyException();
    }

    @Test
    void theTokensOfAProjectShareItsLimitAndEachKeepsToItsOwn() {
        Limits shared = limits(Limit.BYTES_PER_SECOND, 1_000);
        Caller first = caller(shared, limits(Limit.BYTES_PER_SECOND, 100));
        Caller second = caller(shared, Limits.NONE);
        usage.append(first, 1, 200);
        assertExceeded("token-bytes", 2, () -> usage.append(first, 1, 1));
        usage.append(second, 1, 900);
        assertExceeded("project-bytes", 1, () -> usage.append(second, 1, 1));
    }

    @Test
    void aLimitThatIsChangedCountsAtOnceAndWhatIsOwedStaysOwed() {
        UUID token = UUID.randomUUID();
        Caller before = new Caller(
                project,
                Set.of(),
                token,
                false,
                List.of(),
                limits(Limit.RECORDS_PER_SECOND, 10),
                Limits.NONE,
                null,
                null,
                0);
        usage.append(before, 110, 1);
        Caller after = before.withLimits(limits(Limit.RECORDS_PER_SECOND, 50), Limits.NONE);
        now.addAndGet(1);
        assertThatThrownBy(() -> usage.append(after, 1, 1)).isInstanceOf(ProblemException.class);
        // The first refusal was by the old rate: nothing was taken since.
        now.addAndGet(11 * SECOND);
        usage.append(after, 1, 1);
        usage.append(after, 1_000, 1);
        assertExceeded("project-records", 20, () -> usage.append(after, 1, 1));
    }

    @Test
    void callersWithoutLimitsAndIdleCallersTakeNoMemory() {
        Caller free = caller(Limits.NONE, Limits.NONE);
        usage.append(free, 1_000_000, 1_000_000);
        usage.request(free);
        assertThat(usage.size()).isZero();
        Caller limited = caller(limits(Limit.RECORDS_PER_SECOND, 10), Limits.NONE);
        usage.append(limited, 50, 1);
        usage.sweep();
        assertThat(usage.size()).as("what is owed is not forgotten").isEqualTo(1);
        now.addAndGet(5 * SECOND);
        usage.sweep();
        assertThat(usage.size()).isZero();
    }

    @Test
    void aLimitedNumberRunsAtATimeAndEachIsCountedDownOnce() {
        Caller caller = caller(limits(Limit.STREAMS, 3), limits(Limit.STREAMS, 2));
        Runnable first = usage.enter(caller, Limit.STREAMS);
        usage.enter(caller, Limit.STREAMS);
        assertExceeded("token-streams", 5, () -> usage.enter(caller, Limit.STREAMS));
        Caller other = caller(caller.projectLimits(), Limits.NONE);
        usage.enter(other, Limit.STREAMS);
        assertExceeded("project-streams", 5, () -> usage.enter(other, Limit.STREAMS));
        first.run();
        first.run();
        usage.enter(other, Limit.STREAMS);
        assertExceeded("project-streams", 5, () -> usage.enter(caller, Limit.STREAMS));
    }

    @Test
    void answersShowTheLimitsAndWhatIsLeft() {
        Caller caller = caller(
                new Limits(Map.of(Limit.RECORDS_PER_SECOND, 10L, Limit.REQUESTS_PER_SECOND, 5L)),
                limits(Limit.EXPORTS, 1));
        usage.append(caller, 25, 1);
        usage.request(caller);
        Map<String, String> headers = new LinkedHashMap<>();
        usage.describe(caller, headers::put);
        assertThat(headers)
                .containsEntry(
                        "RateLimit-Policy",
                        "\"project-records\";q=10;qu=\"records\";w=1, \"project-requests\";q=5;w=1,"
                                + " \"token-exports\";q=1;qu=\"concurrent-requests\"")
                .containsEntry(
                        "RateLimit",
                        "\"project-records\";r=0;t=2, \"project-requests\";r=4;t=1, \"token-exports\";r=1");
    }

    @Test
    void manyAtOnceGetNoMoreThanTheyOwe() throws Exception {
        Caller caller = caller(limits(Limit.RECORDS_PER_SECOND, 1_000), Limits.NONE);
        ExecutorService threads = Executors.newFixedThreadPool(8);
        CountDownLatch start = new CountDownLatch(1);
        AtomicLong appended = new AtomicLong();
        try {
            List<Future<?>> all = IntStream.range(0, 8)
                    .<Future<?>>mapToObj(i -> threads.submit(() -> {
                        start.await();
                        for (int n = 0; n < 1_000; n++) {
                            if (usage.appendInTurn(caller, 7, 1) == null) {
                                appended.addAndGet(7);
                            }
                            usage.sweep();
                        }
                        return null;
                    }))
                    .toList();
            start.countDown();
            for (Future<?> one : all) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
        // One of each thread may have seen the last one that was left.
        assertThat(appended.get()).isBetween(1_000L, 1_000L + 8 * 7);
    }
}
