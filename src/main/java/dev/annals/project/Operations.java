package dev.annals.project;

import dev.annals.database.Sql;
import dev.annals.http.JsonBody;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.container.ContainerRequestContext;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Events of the administration's feed about what changes neither projects nor tokens. */
@ApplicationScoped
public class Operations {

    private static final Sql RECORD_OPERATION = Sql.named("record_operation");
    private static final int SIZE = 512;

    private final Pool pool;

    Operations(Pool pool) {
        this.pool = pool;
    }

    /** A caller begins an operation: it may go on once this is done. */
    public Uni<Void> began(
            ContainerRequestContext request,
            String action,
            String subjectType,
            String subjectId,
            JsonBody.Content details) {
        return record(
                action,
                subjectType,
                subjectId,
                "success",
                details,
                Caller.of(request).token(),
                Caller.addressOf(request));
    }

    /** So many requests from an address had no valid token. */
    Uni<Void> failed(FailedAuthentications.Failures failures) {
        return record(
                "annals.authentication.fail",
                "address",
                failures.address() == null ? "others" : failures.address(),
                "failure",
                json -> {
                    json.writeStartObject();
                    json.writeNumberField("count", failures.count());
                    json.writeStringField("from", failures.from().toString());
                    json.writeStringField("to", failures.to().toString());
                    json.writeEndObject();
                },
                null,
                failures.address());
    }

    private Uni<Void> record(
            String action,
            String subjectType,
            String subjectId,
            String outcome,
            JsonBody.Content details,
            @Nullable UUID token,
            @Nullable String address) {
        return RECORD_OPERATION
                .bind("action", action)
                .bind("subject_type", subjectType)
                .bind("subject_id", subjectId)
                .bind("outcome", outcome)
                .bind("details", new String(JsonBody.toBytes(SIZE, details), StandardCharsets.UTF_8))
                .bind("actor_token", token)
                .bind("address", address)
                .execute(pool)
                .replaceWithVoid();
    }
}
