package dev.annals.edges.delivery;

import dev.annals.AuditLogFixture;
import dev.annals.ServiceProcess;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The packaged service, which may deliver to sinks of this machine. */
final class StreamingService {

    private StreamingService() {}

    /**
     * Starts it. The caller closes it.
     *
     * @param more names and values of further settings, in turn
     */
    static ServiceProcess start(DatabaseUrl database, String... more) throws IOException {
        Map<String, String> settings = new HashMap<>(Map.of(
                "ANNALS_DATABASE_URL",
                database.withPassword(),
                "ANNALS_ADMIN_TOKEN",
                AuditLogFixture.ADMIN_TOKEN,
                "ANNALS_STREAMS_KEY",
                AuditLogFixture.STREAMS_KEY,
                "ANNALS_STREAMS_ALLOWED_HOSTS",
                "127.0.0.1"));
        for (int i = 0; i < more.length; i += 2) {
            settings.put(more[i], more[i + 1]);
        }
        return ServiceProcess.start(settings).awaitListening();
    }
}
