package dev.annals.kernel.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.quarantine.ConnectionRules;
import io.quarkus.test.junit.QuarkusTest;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** The log warns of refused connections. */
@QuarkusTest
class ConnectionWarningsTest {

    private final List<String> warnings = new ArrayList<>();

    @Test
    void noWarningHidesAnother() {
        Logger log = Logger.getLogger(ConnectionLimits.class.getName());
        Handler handler = handler();
        log.addHandler(handler);
        try {
            ConnectionRules port = new ConnectionLimits().rules();
            refuse(port, false);
            refuse(port, true);
            port.cutOff();
            refuse(port, false);
            port.cutOff();
        } finally {
            log.removeHandler(handler);
        }
        assertThat(warnings)
                .extracting(warning -> warning.replaceAll(".*\\((.*)\\)", "$1"))
                .containsExactly(
                        "annals.connections.per-address", "annals.connections.max", "annals.connections.unsent-bytes");
    }

    /** Opens connections until one is refused: from one address, or each from another. */
    private static void refuse(ConnectionRules port, boolean fromMany) {
        int opened = 0;
        InetSocketAddress from;
        do {
            int last = fromMany ? ++opened : 0;
            from = new InetSocketAddress("198.18." + (last >> 8) + "." + (last & 255), 1);
        } while (port.admit(from));
    }

    private Handler handler() {
        return new Handler() {
            @Override
            public void publish(LogRecord entry) {
                warnings.add(entry.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }
}
