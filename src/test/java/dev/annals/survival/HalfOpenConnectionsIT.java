package dev.annals.survival;

import dev.annals.BreakablePath;
import dev.annals.Slow;
import dev.annals.kernel.database.DatabaseUrl;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The network between the service and its database swallows everything, and forgets the connections that were open. */
@Slow
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "HealedPathIT has it once")
class HalfOpenConnectionsIT extends RepeatedFault {

    private static final int SWALLOWED_SECONDS = 3;

    private BreakablePath path;

    @Override
    void start() throws Exception {
        DatabaseUrl database = startServer().url("postgres");
        path = closeLater(new BreakablePath(database.port()));
        startClients(path.url(database));
    }

    @Test
    void connectionsThatNobodyWillAnswerAreGivenUp() throws Exception {
        assertSoundWhen("connections to the database half-open, for 3 s and for good", 1, times -> {
            path.swallow();
            TimeUnit.SECONDS.sleep(SWALLOWED_SECONDS);
            clients.measureRecovery();
            path.heal();
        });
    }
}
