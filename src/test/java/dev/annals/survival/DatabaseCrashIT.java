package dev.annals.survival;

import dev.annals.Slow;
import dev.annals.tools.embedded.InstalledPostgres;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The database crashes and is started again. */
@Slow
@EnabledIfSystemProperty(named = "survival.minutes", matches = "[1-9].*", disabledReason = "DatabaseOutageIT has it")
class DatabaseCrashIT extends RepeatedFault {

    private InstalledPostgres server;

    @Override
    void start() throws Exception {
        server = startServer();
        startClients(server.url("postgres"));
    }

    @Test
    void nothingThatItHasCommittedIsLost() throws Exception {
        assertSoundWhen("database killed and started again", 2, times -> server.crash());
    }
}
