package shop;

import dev.annals.writer.AuditLog;
import dev.annals.writer.SpoolOptions;
import io.quarkus.runtime.Startup;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.net.URI;
import java.nio.file.Path;
import org.eclipse.microprofile.config.inject.ConfigProperty;

public class Audit {
    /** From the start on, so that what the last process has left is sent. */
    @Produces
    @Singleton
    @Startup
    AuditLog log(
            @ConfigProperty(name = "annals.url") URI url, @ConfigProperty(name = "annals.token") String token) {
        return AuditLog.to(url, token).spool(SpoolOptions.in(Path.of("audit-spool"))).open();
    }

    void close(@Disposes AuditLog log) {
        log.close();
    }
}
