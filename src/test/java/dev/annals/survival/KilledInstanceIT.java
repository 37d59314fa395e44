package dev.annals.survival;

import dev.annals.Slow;
import org.junit.jupiter.api.Test;

/** One of two instances is killed and started again, in turn. */
@Slow
class KilledInstanceIT extends RepeatedFault {

    @Override
    void start() throws Exception {
        startClients(startServer().url("postgres"));
    }

    @Test
    void nothingOfWhatItHasAnsweredIsLost() throws Exception {
        assertSoundWhen("one of two instances killed", 2, times -> instances.crash(times % 2));
    }
}
