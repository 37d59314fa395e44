package dev.annals.access.caller;

import dev.annals.access.limits.Limited;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.container.ContainerRequestContext;
import java.time.Instant;
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
 * @param token the id of the token, or of the identity; null for the admin token that is configured
 * @param closed whether the project takes no more records
 * @param allowedAddresses where the token may be used; empty: everywhere
 * @param projectLimits those of all tokens of the project together
 * @param tokenLimits those of this token
 * @param view the records that its viewer link shows; null for every other token
 * @param entry how an identity came; null for tokens of the service
 */
public record Caller(
        UUID projectId,
        Set<Scope> scopes,
        @Nullable UUID token,
        boolean closed,
        List<AddressRange> allowedAddresses,
        Limits projectLimits,
        Limits tokenLimits,
        @Nullable View view,
        @Nullable Entry entry)
        implements Limited {

    /**
     * How an identity came.
     *
     * @param subject as its provider calls it
     * @param grants by which it may use the project
     * @param expiresAt when its token ends
     */
    public record Entry(String issuer, String subject, Set<UUID> grants, Instant expiresAt) {}

    /** The name of the request property that holds the address. */
    public static final String ADDRESS = "annals.caller.address";

    /** Who sent a request to an operation that {@link Requires} a token. */
    public static Caller of(ContainerRequestContext request) {
        return (Caller) Objects.requireNonNull(request.getProperty(PROPERTY), "the operation requires no token");
    }

    /** Notes that this caller sent a request, whether or not it is allowed what it asks for. */
    public void noteIn(RoutingContext request) {
        request.put(PROPERTY, this);
    }

    /** Who sent a request, if that is known yet. */
    public static Optional<Caller> ofRequest(RoutingContext request) {
        return Optional.ofNullable(request.<@Nullable Caller>get(PROPERTY));
    }

    /** The address of the client that sent a request. */
    public static String addressOf(ContainerRequestContext request) {
        Object property = Objects.requireNonNull(request.getProperty(ADDRESS), "the operation requires no token");
        return ((Supplier<?>) property).get().toString();
    }

    /** Refuses what a closed project does not take. */
    public static ProblemException projectClosed() {
        return new ProblemException(
                ProblemType.PROJECT_CLOSED,
                "The project of this token is closed: it takes no more records. Append to another project.");
    }

    /** What is limited, and what ends: the token, or the identity in this project. */
    @Override
    public UUID key() {
        UUID id = tokenId();
        return entry == null
                ? id
                : new UUID(
                        id.getMostSignificantBits() ^ projectId.getMostSignificantBits(),
                        id.getLeastSignificantBits() ^ projectId.getLeastSignificantBits());
    }

    /** The token's id, or the identity's. Only the configured admin has none, and it neither appends nor redacts. */
    public UUID tokenId() {
        if (token == null) {
            throw new IllegalStateException("the configured admin token has no id");
        }
        return token;
    }

    /** Whether the token allows what needs this scope. Auditors read the feed of their project, as admins do, who may also have it delivered. */
    public boolean may(Scope scope) {
        return switch (scope) {
            case READ -> scopes.contains(Scope.READ) || may(Scope.AUDIT);
            case VIEW -> scopes.contains(Scope.VIEW) || may(Scope.READ);
            case AUDIT -> scopes.contains(Scope.AUDIT) || scopes.contains(Scope.ADMIN);
            case STREAM -> scopes.contains(Scope.STREAM) || scopes.contains(Scope.ADMIN);
            case WRITE, SEQUENCE, REDACT, LINK, ADMIN -> scopes.contains(scope);
        };
    }

    /** The same caller after its limits were changed. */
    public Caller withLimits(Limits ofProject, Limits ofToken) {
        return new Caller(projectId, scopes, token, closed, allowedAddresses, ofProject, ofToken, view, entry);
    }

    /**
     * Refuses a viewer link what would show more than its records.
     *
     * @throws ProblemException {@code forbidden}
     */
    public void requireWholeFeed() {
        if (view != null) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN, "This link shows some records of the feed, and this would show others.");
        }
    }

    public boolean mayComeFrom(String address) {
        return allowedAddresses.isEmpty() || allowedAddresses.stream().anyMatch(range -> range.contains(address));
    }
}
