package dev.annals.project;

import io.netty.util.NetUtil;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.container.ContainerRequestContext;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Who sent a request.
 *
 * @param projectId the token's project
 * @param scopes what the token allows
 * @param token the token's id; null for the admin token that is configured
 * @param closed whether the project takes no more records
 * @param allowedAddresses where the token may be used; empty: everywhere
 */
public record Caller(
        UUID projectId, Set<Scope> scopes, @Nullable UUID token, boolean closed, List<AddressRange> allowedAddresses) {

    /** The names of the request properties that hold the caller and its address. */
    static final String PROPERTY = "annals.caller";

    static final String ADDRESS = "annals.caller.address";

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

    /** The address from which a request came; 0.0.0.0 if a proxy names something else than an address. */
    public static String addressOf(ContainerRequestContext request) {
        Object property = Objects.requireNonNull(request.getProperty(ADDRESS), "the operation requires no token");
        return known(((Supplier<?>) property).get().toString());
    }

    /** The address itself; 0.0.0.0 if it is none. */
    static String known(String address) {
        return NetUtil.createByteArrayFromIpAddressString(address) == null || address.indexOf('%') >= 0
                ? "0.0.0.0"
                : address;
    }

    /** The token's id. Only the configured admin has none, and it neither appends nor redacts. */
    public UUID tokenId() {
        if (token == null) {
            throw new IllegalStateException("the configured admin token has no id");
        }
        return token;
    }

    /** Whether the token allows what needs this scope. Auditors read the feed of their project, as admins do. */
    boolean may(Scope scope) {
        return switch (scope) {
            case READ -> scopes.contains(Scope.READ) || may(Scope.AUDIT);
            case AUDIT -> scopes.contains(Scope.AUDIT) || scopes.contains(Scope.ADMIN);
            case WRITE, SEQUENCE, REDACT, ADMIN -> scopes.contains(scope);
        };
    }

    boolean mayComeFrom(String address) {
        return allowedAddresses.isEmpty() || allowedAddresses.stream().anyMatch(range -> range.contains(address));
    }
}
