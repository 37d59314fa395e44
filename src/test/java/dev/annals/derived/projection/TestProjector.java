package dev.annals.derived.projection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseFailure;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** An instance that takes on what is behind when a test says so. */
public final class TestProjector {

    static final int STEPS = 2;
    static final int RECORDS = Projector.RECORDS;

    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final Projector projector;

    private static final Duration IDLE = Duration.ofMillis(500);

    /** @param projects how many projects a look is at */
    public TestProjector(Pool pool, List<Projection> projections, int projects) {
        this(pool, projections, projects, Duration.ofMillis(10));
    }

    TestProjector(Pool pool, List<Projection> projections, int projects, Duration interval) {
        this.projector = new Projector(
                pool,
                projections,
                true,
                new Projector.Pace(interval, projects, STEPS, Duration.ofMillis(1), Duration.ofMillis(20)));
    }

    /** What it drives. */
    public Projector projector() {
        return projector;
    }

    /** One look. Gives whether there may be more. */
    public boolean look() {
        return projector.look().await().atMost(LIMIT);
    }

    /** One look, and the pause behind it if there are more projects. Gives whether the service would look on at once. */
    boolean lookOn() {
        return projector.lookOn().await().atMost(LIMIT);
    }

    /**
     * Looks at every project until a whole round finds nothing behind, or there was nothing to take in for much longer than
     * what failed is left alone: other tests leave feeds with gaps, where no projection gets on.
     */
    public void catchUp() {
        long before = -1;
        long idleSince = System.nanoTime();
        for (int rounds = 0; rounds < 10_000; rounds++) {
            boolean more = look();
            while (!projector.atEnd()) {
                more |= look();
            }
            long missing =
                    projector.names().stream().mapToLong(projector::missing).sum();
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

    /** What goes on while instances project. */
    public interface Work {
        void run() throws Exception;
    }

    /** Lets instances project for as long as a load runs. */
    public static void projectDuring(List<TestProjector> instances, Work load) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(instances.size());
        AtomicBoolean running = new AtomicBoolean(true);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (TestProjector instance : instances) {
                ends.add(threads.submit(() -> instance.lookWhile(running)));
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

    private void lookWhile(AtomicBoolean running) {
        while (running.get()) {
            try {
                look();
            } catch (RuntimeException e) {
                // Its connection was killed at the look itself, which the service would try again.
                if (!DatabaseFailure.isTransient(e.getCause() == null ? e : e.getCause())) {
                    throw e;
                }
            }
        }
    }

    /** For how long a projection has been behind. */
    public double lagSeconds(String projection) {
        return projector.lagSeconds(projection);
    }

    /** In how many projects the last step of a projection failed. */
    public long failing(String projection) {
        return projector.failing(projection);
    }
}
