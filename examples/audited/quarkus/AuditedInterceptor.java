package shop;

import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import jakarta.annotation.Priority;
import jakarta.inject.Inject;
import jakarta.interceptor.AroundInvoke;
import jakarta.interceptor.Interceptor;
import jakarta.interceptor.InvocationContext;
import jakarta.ws.rs.core.SecurityContext;
import java.security.Principal;

@Audited("")
@Interceptor
@Priority(Interceptor.Priority.PLATFORM_BEFORE)
public class AuditedInterceptor {
    @Inject
    AuditLog log;

    @Inject
    SecurityContext security;

    @AroundInvoke
    Object record(InvocationContext call) throws Exception {
        String outcome = "failure";
        try {
            Object result = call.proceed();
            outcome = "success";
            return result;
        } finally {
            Principal caller = security.getUserPrincipal();
            log.append(AuditRecord.of(call.getInterceptorBinding(Audited.class).value())
                    .actor("user", caller == null ? null : caller.getName(), null)
                    .outcome(outcome)
                    .build());
        }
    }
}
