package dev.annals.survival;

import dev.annals.BreakablePath;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import org.junit.jupiter.api.Test;

/** The connections between the service and its database break, and new ones can be made at once. */
@Slow
@TakesLong
class CutConnectionsIT extends RepeatedFault {

    private BreakablePath path;

    @Override
    void start() throws Exception {
        DatabaseUrl database = startServer().url("postgres");
        path = closeLater(new BreakablePath(database.port()));
        startClients(path.url(database));
    }

    @Test
    void whatWasUnderWayIsRepeated() throws Exception {
        assertSoundWhen("connections to the database cut", 3, times -> path.cut());
    }
}
