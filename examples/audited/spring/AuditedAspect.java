package shop;

import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.annotation.Around;
import org.aspectj.lang.annotation.Aspect;
import org.springframework.core.annotation.Order;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.context.SecurityContextHolder;

@Aspect
@Order(0)
public class AuditedAspect {
    private final AuditLog log;

    AuditedAspect(AuditLog log) {
        this.log = log;
    }

    @Around("@annotation(audited)")
    Object record(ProceedingJoinPoint call, Audited audited) throws Throwable {
        String outcome = "failure";
        try {
            Object result = call.proceed();
            outcome = "success";
            return result;
        } finally {
            Authentication caller = SecurityContextHolder.getContext().getAuthentication();
            log.append(AuditRecord.of(audited.value())
                    .actor("user", caller == null ? null : caller.getName(), null)
                    .outcome(outcome)
                    .build());
        }
    }
}
