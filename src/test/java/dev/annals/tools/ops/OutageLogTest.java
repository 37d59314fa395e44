package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import io.vertx.core.VertxException;
import java.io.IOException;
import java.util.logging.Level;
import org.jboss.logmanager.ExtLogRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A repeated failure is logged once per interval; failures without the database are logged unchanged. */
@BesideTheService
class OutageLogTest {

    private long now;
    private final OutageLog log = new OutageLog(() -> now);

    @Test
    void aCauseIsLoggedOncePerIntervalWithItsNumber() {
        ExtLogRecord first = entry("A request of %s failed", new VertxException("closed"), "one");
        assertThat(log.isLoggable(first)).isTrue();
        assertThat(first.getMessage()).isEqualTo("A request of one failed: io.vertx.core.VertxException: closed");
        assertThat(first.getThrown()).isNull();
        for (int i = 0; i < 5; i++) {
            assertThat(log.isLoggable(entry("A request of %s failed", new VertxException("closed"), "another")))
                    .isFalse();
        }
        assertThat(log.isLoggable(entry("An export of %s failed", new VertxException("closed"), "one")))
                .isTrue();
        now += OutageLog.INTERVAL_NANOS;
        ExtLogRecord later = entry("A request of %s failed", new VertxException("closed"), "last");
        assertThat(log.isLoggable(later)).isTrue();
        assertThat(later.getMessage())
                .contains("A request of last failed")
                .endsWith("(and 5 times more since the last line)");
    }

    @Test
    void aPromiseThatIsKeptTwiceIsSaidOnce() {
        IllegalStateException twice = new IllegalStateException("Result is already complete");
        assertThat(log.isLoggable(entry("Uncaught exception", twice))).isTrue();
        assertThat(log.isLoggable(entry("Uncaught exception", twice))).isFalse();
    }

    @Test
    void otherFailuresAreLoggedUnchangedEachTime() {
        for (Throwable failure :
                new Throwable[] {new IllegalStateException("a fault"), new IOException("of the service's own")}) {
            for (int i = 0; i < 3; i++) {
                ExtLogRecord entry = entry("GET %s failed", failure, "/v1");
                assertThat(log.isLoggable(entry)).isTrue();
                assertThat(entry.getThrown()).isSameAs(failure);
            }
        }
        assertThat(log.isLoggable(entry("nothing at all", null))).isTrue();
        assertThat(log.isLoggable(entry("nothing at all", null))).isTrue();
    }

    private static ExtLogRecord entry(String format, @Nullable Throwable thrown, Object... parameters) {
        ExtLogRecord entry = new ExtLogRecord(Level.WARNING, format, ExtLogRecord.FormatStyle.PRINTF, "annals");
        entry.setLoggerName("dev.annals.Somewhere");
        entry.setParameters(parameters);
        entry.setThrown(thrown);
        return entry;
    }
}
