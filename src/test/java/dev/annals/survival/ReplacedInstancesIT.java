package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.TakesLong;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Both instances are replaced, one after the other. */
@Slow
@TakesLong
class ReplacedInstancesIT extends RepeatedFault {

    @Override
    void start() throws Exception {
        startClients(startServer().url("postgres"));
    }

    @Test
    void nobodyIsRefused() throws Exception {
        assertSoundWhen("one of two instances replaced by a new one", 1, times -> instances.replace(0, Map.of()));

        assertThat(clients.refusedWrites()).as("%s", clients).isZero();
        assertThat(clients.refusedReads()).as("%s", clients).isZero();
    }
}
