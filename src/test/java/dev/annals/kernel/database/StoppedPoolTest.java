package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** The pools are closed before the event loops end. */
@BesideTheService
class StoppedPoolTest {

    private final Queue<String> logged = new ConcurrentLinkedQueue<>();
    private final Handler listener = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            logged.add(String.valueOf(entry.getMessage()));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @Test
    void theGarbageCollectorFindsNothingToCloseOnceTheEventLoopsHaveEnded() throws Exception {
        Logger rejected = Logger.getLogger("io.netty.util.concurrent.DefaultPromise.rejectedExecution");
        rejected.addHandler(listener);
        try {
            WeakReference<Object> pools = runAndStop();
            while (pools.get() != null) {
                System.gc();
                TimeUnit.MILLISECONDS.sleep(10);
            }
            System.gc();
            System.runFinalization();
        } finally {
            rejected.removeHandler(listener);
        }
        assertThat(logged).isEmpty();
    }

    private static WeakReference<Object> runAndStop() throws Exception {
        Vertx vertx = Vertx.vertx();
        PoolFixture pools = new PoolFixture(SqlFixture.ofTheSchemaAlone().database(), Map.of(), vertx);
        Pool pool = pools.open(2);
        pool.query("select 1").execute().await().indefinitely();
        SqlConnection single = pools.connect().await().indefinitely();
        single.close().await().indefinitely();
        pool.close().await().indefinitely();
        pools.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
        return new WeakReference<>(pools);
    }
}
