package dev.annals.derived.projection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.OneDatabase;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** An instance that scans when a test says so. The clock of its lag moves when a test says so, too. */
public final class TestProjector {

    static final int STEPS = 2;
    static final int RECORDS = Projector.RECORDS;

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration IDLE = Duration.ofMillis(500);

    private final ProjectionSteps steps;
    private final Projector projector;
    private final AtomicLong nanoTime = new AtomicLong();

    /** @param projects how many projects a scan covers */
    public TestProjector(Pool pool, List<Projection> projections, int projects) {
        this(pool, projections, projects, Duration.ofMillis(10));
    }

    TestProjector(Pool pool, List<Projection> projections, int projects, Duration interval) {
        this.steps = new ProjectionSteps(projections);
        this.projector = new Projector(
                OneDatabase.of(pool).home(),
                steps,
                true,
                new Projector.Pace(interval, projects, STEPS, Duration.ofMillis(1), Duration.ofMillis(20)),
                nanoTime::get);
    }

    public Projector projector() {
        return projector;
    }

    public ProjectionSteps steps() {
        return steps;
    }

    /** Scans once. Returns whether there may be more. */
    public boolean scan() {
        return projector.scan().await().atMost(LIMIT);
    }

    /** Scans once, and pauses as the service does. Returns whether the service would scan again without waiting for its interval. */
    boolean scanAndPause() {
        return projector.scanAndPause().await().atMost(LIMIT);
    }

    /** Moves the clock of the lag. */
    void passSecond() {
        nanoTime.addAndGet(Duration.ofSeconds(1).toNanos());
    }

    /**
     * Scans until a whole round finds no projection behind, or until nothing was taken in for much longer than the longest back-off:
     * other tests leave feeds with gaps, where no projection gets on.
     */
    public void catchUp() {
        long before = -1;
        long idleSince = System.nanoTime();
        for (int rounds = 0; rounds < 10_000; rounds++) {
            boolean more = scan();
            while (!projector.atEnd()) {
                more |= scan();
            }
            long missing = projector.names().stream()
                    .mapToLong(projector.lag()::records)
                    .sum();
            if (more || missing != before) {
                idleSince = System.nanoTime();
            }
            if (!more && (missing == 0 || System.nanoTime() - idleSince > IDLE.toNanos())) {
                return;
            }
            before = missing;
        }
        assertThat(projector.names())
                .as("projections that do not come to the end")
                .isEmpty();
    }

    /** Work that a test does while instances project. */
    public interface Work {
        void run() throws Exception;
    }

    /** Lets instances project while a load runs. */
    public static void projectDuring(List<TestProjector> instances, Work load) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(instances.size());
        AtomicBoolean running = new AtomicBoolean(true);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (TestProjector instance : instances) {
                ends.add(threads.submit(() -> instance.scanWhile(running)));
            }
            load.run();
            running.set(false);
            for (Future<?> end : ends) {
                end.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
        } finally {
            running.set(false);
            threads.shutdownNow();
        }
    }

    private void scanWhile(AtomicBoolean running) {
        while (running.get()) {
            try {
                scan();
            } catch (RuntimeException e) {
                // The connection of the scan itself was killed. The service would scan again.
                if (!DatabaseFailure.isTransient(e.getCause() == null ? e : e.getCause())) {
                    throw e;
                }
            }
        }
    }

    /** The lag of a projection, by the clock of the test. */
    public double lagSeconds(String projection) {
        return projector.lag().seconds(projection);
    }

    /** The number of projects in which the last step of a projection failed. */
    public long failing(String projection) {
        return projector.failing(projection);
    }
}
