package shop;

import dev.annals.writer.AuditLog;
import dev.annals.writer.SpoolOptions;
import java.net.URI;
import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.EnableAspectJAutoProxy;

@Configuration
@EnableAspectJAutoProxy
public class Audit {
    /** Spring closes it at the end. */
    @Bean
    AuditLog auditLog(@Value("${annals.url}") URI url, @Value("${annals.token}") String token) {
        return AuditLog.to(url, token).spool(SpoolOptions.in(Path.of("audit-spool"))).open();
    }

    @Bean
    AuditedAspect auditedAspect(AuditLog log) {
        return new AuditedAspect(log);
    }
}
