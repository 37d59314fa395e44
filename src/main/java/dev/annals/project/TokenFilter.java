package dev.annals.project;

import dev.annals.connection.ClientAddress;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import java.util.Objects;
import java.util.function.Supplier;
import org.jboss.resteasy.reactive.server.ServerRequestFilter;
import org.jboss.resteasy.reactive.server.core.CurrentRequestManager;
import org.jboss.resteasy.reactive.server.core.ResteasyReactiveRequestContext;
import org.jspecify.annotations.Nullable;

/** Lets a request pass if its token allows the operation, and notes its {@link Caller}. */
class TokenFilter {

    private static final String SCHEME = "Bearer ";
    /** Nothing longer is a token, so it need not be hashed. */
    private static final int MAX_LENGTH = 512;

    private final AccessTokens tokens;

    TokenFilter(AccessTokens tokens) {
        this.tokens = tokens;
    }

    @ServerRequestFilter
    @Requires.Read
    Uni<@Nullable Response> read(ContainerRequestContext request) {
        return require(request, Scope.READ);
    }

    @ServerRequestFilter
    @Requires.Write
    Uni<@Nullable Response> write(ContainerRequestContext request) {
        return require(request, Scope.WRITE);
    }

    @ServerRequestFilter
    @Requires.Sequence
    Uni<@Nullable Response> sequence(ContainerRequestContext request) {
        return require(request, Scope.SEQUENCE);
    }

    @ServerRequestFilter
    @Requires.Redact
    Uni<@Nullable Response> redact(ContainerRequestContext request) {
        return require(request, Scope.REDACT);
    }

    @ServerRequestFilter
    @Requires.Admin
    Uni<@Nullable Response> admin(ContainerRequestContext request) {
        return require(request, Scope.ADMIN);
    }

    @ServerRequestFilter
    @Requires.Audit
    Uni<@Nullable Response> audit(ContainerRequestContext request) {
        return require(request, Scope.AUDIT);
    }

    @ServerRequestFilter
    @Requires.Token
    Uni<@Nullable Response> token(ContainerRequestContext request) {
        return require(request, null);
    }

    /** Behind a trusted proxy it is the address that the proxy names. */
    private static String addressOf(ResteasyReactiveRequestContext request) {
        SocketAddress address =
                request.serverRequest().unwrap(RoutingContext.class).request().remoteAddress();
        return address.hostAddress() == null ? address.toString() : address.hostAddress();
    }

    private Uni<@Nullable Response> require(ContainerRequestContext request, @Nullable Scope scope) {
        String header = request.getHeaderString(HttpHeaders.AUTHORIZATION);
        if (header == null || !header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            throw new ProblemException(ProblemType.UNAUTHORIZED, "Send a token: \"Authorization: Bearer annals_…\".");
        }
        String token = header.substring(SCHEME.length()).strip();
        ResteasyReactiveRequestContext current =
                Objects.requireNonNull(CurrentRequestManager.get(), "filters run in a request");
        Supplier<String> address = () -> addressOf(current);
        Supplier<String> client = () -> ClientAddress.of(address.get());
        if (token.isEmpty() || token.length() > MAX_LENGTH) {
            throw tokens.refused(address, "This is not a token that the service issued.");
        }
        return tokens.callerOf(token, client).map(caller -> {
            if (caller == null) {
                throw tokens.refused(
                        address, "The token is unknown, or has ended. Ask the administrator for a new one.");
            }
            caller.noteIn(current.serverRequest().unwrap(RoutingContext.class));
            requireAllowed(caller, scope, address);
            request.setProperty(Caller.PROPERTY, caller);
            request.setProperty(Caller.ADDRESS, address);
            return null;
        });
    }

    private static void requireAllowed(Caller caller, @Nullable Scope scope, Supplier<String> address) {
        if (!caller.allowedAddresses().isEmpty() && !caller.mayComeFrom(address.get())) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN, "This token may not be used from this address. Ask the administrator.");
        }
        if (scope == null) {
            return;
        }
        if (!caller.may(scope)) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN, "This operation needs a token with the scope \"" + scope.text() + "\".");
        }
        if (caller.closed() && (scope == Scope.WRITE || scope == Scope.SEQUENCE)) {
            throw new ProblemException(
                    ProblemType.PROJECT_CLOSED,
                    "The project of this token is closed: it takes no more records. Append to another project.");
        }
    }
}
