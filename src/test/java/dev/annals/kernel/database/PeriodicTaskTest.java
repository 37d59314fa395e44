package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.Pool;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import org.jboss.logging.Logger;
import org.jboss.logmanager.formatters.PatternFormatter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A failing task logs once, goes on by itself, and never runs twice at once. */
@Timeout(60)
class PeriodicTaskTest {

    private static final Duration SOON = Duration.ofMillis(2);
    private static final Formatter FORMATTER = new PatternFormatter("%m");

    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final AtomicInteger looks = new AtomicInteger();
    private final CountDownLatch enough = new CountDownLatch(9);

    @Test
    void aPauseIsNeverShorterThanATimerCanWait() {
        assertThat(PeriodicTask.pause(0, System.nanoTime(), Duration.ofSeconds(1)))
                .isEqualTo(Duration.ofMillis(1));
        assertThat(PeriodicTask.pause(9, System.nanoTime() - 1_000_000_000, Duration.ofSeconds(1)))
                .isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void aDatabaseThatIsAwayIsOneLineEachTimeItGoes() throws Exception {
        Logger log = Logger.getLogger("annals.test.repeated-look");
        java.util.logging.Logger sink = java.util.logging.Logger.getLogger(log.getName());
        Handler handler = handler();
        sink.addHandler(handler);
        PeriodicTask look = new PeriodicTask(
                () -> Uni.createFrom().item(() -> {
                    enough.countDown();
                    // Three runs fail, the fourth succeeds, and so on.
                    if (looks.getAndIncrement() % 4 != 3) {
                        throw new IllegalStateException("away");
                    }
                    return false;
                }),
                SOON,
                SOON,
                log,
                "Tests");
        try {
            look.start();
            assertThat(enough.await(50, TimeUnit.SECONDS)).isTrue();
        } finally {
            look.stop();
            sink.removeHandler(handler);
        }
        assertThat(lines).startsWith(line(), line()).hasSizeLessThanOrEqualTo(looks.get() / 4 + 1);
        assertThat(lines).containsOnly(line());
    }

    /** Of a service that stops, or cannot start. */
    @Test
    void aPoolThatIsClosedEndsTheTaskWithoutALine() throws Exception {
        Vertx vertx = Vertx.vertx();
        Logger log = Logger.getLogger("annals.test.closed-pool");
        java.util.logging.Logger sink = java.util.logging.Logger.getLogger(log.getName());
        Handler handler = handler();
        sink.addHandler(handler);
        Pool pool = PgBuilder.pool()
                .connectingTo(new PgConnectOptions().setHost("127.0.0.1").setPort(1))
                .using(vertx)
                .build();
        pool.close().toCompletionStage().toCompletableFuture().get(50, TimeUnit.SECONDS);
        PeriodicTask look = new PeriodicTask(
                () -> Uni.createFrom()
                        .completionStage(() -> pool.query("select 1").execute().toCompletionStage())
                        .replaceWith(false),
                SOON,
                SOON,
                log,
                "Tests");
        try {
            look.start();
            Await.until("the task has ended", look::stopped);
            assertThat(lines).isEmpty();
        } finally {
            sink.removeHandler(handler);
            vertx.close();
        }
    }

    private static String line() {
        return "Tests wait for the database: java.lang.IllegalStateException: away";
    }

    @Test
    void aLookBeginsWhenTheOneBeforeHasEndedAndNoneBehindAStop() throws Exception {
        AtomicInteger underWay = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        PeriodicTask look = new PeriodicTask(
                () -> {
                    looks.incrementAndGet();
                    most.accumulateAndGet(underWay.incrementAndGet(), Math::max);
                    enough.countDown();
                    return Uni.createFrom()
                            .item(true)
                            .onItem()
                            .delayIt()
                            .by(SOON.multipliedBy(5))
                            .invoke(underWay::decrementAndGet);
                },
                SOON,
                SOON,
                Logger.getLogger(PeriodicTaskTest.class),
                "Tests");
        look.start();
        assertThat(enough.await(50, TimeUnit.SECONDS)).isTrue();
        look.stop();
        assertThat(most).hasValue(1);
        assertThat(look.stopped()).isTrue();
        // The run that was under way may end; no other begins.
        while (underWay.get() > 0) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
        int before = looks.get();
        TimeUnit.MILLISECONDS.sleep(SOON.multipliedBy(20).toMillis());
        assertThat(underWay).hasValue(0);
        assertThat(looks).hasValue(before);
    }

    private Handler handler() {
        return new Handler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(FORMATTER.format(line));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }
}
