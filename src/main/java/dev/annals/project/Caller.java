package dev.annals.project;

import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.container.ContainerRequestContext;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Who sent a request.
 *
 * @param project the token's project; null for the admin
 * @param scopes what the token allows
 * @param token the token's id; null for an admin token that is configured
 */
public record Caller(
        @Nullable UUID project, Set<Scope> scopes, @Nullable UUID token) {

    /** The name of the request property that holds the caller. */
    static final String PROPERTY = "annals.caller";

    /** Who sent a request to an operation that {@link Requires} a token. */
    public static Caller of(ContainerRequestContext request) {
        return (Caller) Objects.requireNonNull(request.getProperty(PROPERTY), "the operation requires no token");
    }

    /** Notes that this caller sent a request, whether or not it is allowed what it asks for. */
    void noteIn(RoutingContext request) {
        request.put(PROPERTY, this);
    }

    /** Who sent a request, if that is known yet. */
    public static Optional<Caller> ofRequest(RoutingContext request) {
        return Optional.ofNullable(request.<@Nullable Caller>get(PROPERTY));
    }

    /**
     * The token's project. Only the admin has none, and {@link Requires} keeps the admin away from the operations of
     * projects.
     */
    public UUID projectId() {
        if (project == null) {
            throw new IllegalStateException("the admin token belongs to no project");
        }
        return project;
    }

    /** The token's id. Only the admin can have none. */
    public UUID tokenId() {
        if (token == null) {
            throw new IllegalStateException("the configured admin token has no id");
        }
        return token;
    }
}
