package dev.annals.survival;

import dev.annals.Slow;
import dev.annals.TakesLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** One of two instances stands still, in turn, and goes on as if nothing had happened. */
@Slow
@TakesLong
class FrozenInstanceIT extends RepeatedFault {

    private static final int FROZEN_SECONDS = 3;

    @Override
    void start() throws Exception {
        startClients(startServer().url("postgres"));
    }

    @Test
    void whatItWasAboutToDoIsStillRight() throws Exception {
        assertSoundWhen("one of two instances frozen for 3 s", 2, times -> {
            instances.freeze(times % 2);
            TimeUnit.SECONDS.sleep(FROZEN_SECONDS);
            clients.measureRecovery();
            instances.thaw(times % 2);
        });
    }
}
