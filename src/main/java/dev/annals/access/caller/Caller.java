package dev.annals.access.caller;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.limits.Limited;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.container.ContainerRequestContext;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The sender of a request: a token of the service, or an identity of the OpenID provider.
 *
 * @param token the id of the token or identity; null for the configured admin token
 * @param closed true if the project accepts no more records
 * @param allowedAddresses empty for all
 * @param view the records that a viewer link shows; null for all
 * @param entry null for tokens of the service
 * @param catalogueVersion of the project's catalogue of actions; 0 without one
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
        @Nullable Entry entry,
        long catalogueVersion)
        implements Limited {

    /**
     * An identity's token of the OpenID provider.
     *
     * @param subject the identity's name at the provider
     * @param grants those that open the project to it
     */
    public record Entry(String issuer, String subject, Set<UUID> grants, Instant expiresAt) {}

    /** The request property with the address. */
    public static final String ADDRESS = "annals.caller.address";

    public static Caller of(ContainerRequestContext request) {
        return (Caller) Objects.requireNonNull(request.getProperty(PROPERTY), "the operation requires no token");
    }

    /** The request may still be refused. */
    public void noteIn(RoutingContext request) {
        request.put(PROPERTY, this);
    }

    /** Empty until the token was checked. */
    public static Optional<Caller> ofRequest(RoutingContext request) {
        return Optional.ofNullable(request.<@Nullable Caller>get(PROPERTY));
    }

    public static String addressOf(ContainerRequestContext request) {
        Object property = Objects.requireNonNull(request.getProperty(ADDRESS), "the operation requires no token");
        return ((Supplier<?>) property).get().toString();
    }

    public static ProblemException projectClosed() {
        return new ProblemException(
                ProblemType.PROJECT_CLOSED,
                "The project of this token is closed and accepts no more records. Append to another project.");
    }

    /** Limits and ends apply to the token, or to the identity in this project. */
    @Override
    public UUID key() {
        UUID id = tokenId();
        return entry == null
                ? id
                : new UUID(
                        id.getMostSignificantBits() ^ projectId.getMostSignificantBits(),
                        id.getLeastSignificantBits() ^ projectId.getLeastSignificantBits());
    }

    /** Only the configured admin token has no id; it neither appends nor redacts. */
    public UUID tokenId() {
        if (token == null) {
            throw new IllegalStateException("the configured admin token has no id");
        }
        return token;
    }

    /** Audit includes read; admin includes audit and stream. */
    public boolean may(Scope scope) {
        return switch (scope) {
            case READ -> scopes.contains(Scope.READ) || may(Scope.AUDIT);
            case VIEW -> scopes.contains(Scope.VIEW) || may(Scope.BROWSE);
            case BROWSE, EXPORT -> scopes.contains(scope) || may(Scope.READ);
            case DELIVER -> scopes.contains(Scope.DELIVER) || may(Scope.STREAM);
            case AUDIT -> scopes.contains(Scope.AUDIT) || scopes.contains(Scope.ADMIN);
            case STREAM -> scopes.contains(Scope.STREAM) || scopes.contains(Scope.ADMIN);
            case WRITE, SEQUENCE, REDACT, LINK, ADMIN -> scopes.contains(scope);
        };
    }

    /** Writes the field {@code capabilities} of a reader. */
    public static void writeCapabilities(JsonGenerator json, Predicate<Scope> may) throws IOException {
        json.writeArrayFieldStart("capabilities");
        json.writeString("read");
        if (may.test(Scope.EXPORT)) {
            json.writeString("export");
        }
        if (may.test(Scope.DELIVER)) {
            json.writeString("streams");
        }
        json.writeEndArray();
    }

    public Caller withLimits(Limits ofProject, Limits ofToken) {
        return new Caller(
                projectId, scopes, token, closed, allowedAddresses, ofProject, ofToken, view, entry, catalogueVersion);
    }

    /**
     * Refuses a viewer link.
     *
     * @throws ProblemException {@code forbidden}
     */
    public void requireNoLink() {
        if (isLink()) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN, "Links cannot call this operation: it would show more than their records.");
        }
    }

    public boolean isLink() {
        return scopes.contains(Scope.VIEW) || scopes.contains(Scope.BROWSE);
    }

    public boolean mayComeFrom(String address) {
        return allowedAddresses.isEmpty() || allowedAddresses.stream().anyMatch(range -> range.contains(address));
    }
}
