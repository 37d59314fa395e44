package dev.annals.project;

import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import org.jboss.resteasy.reactive.server.ServerRequestFilter;
import org.jspecify.annotations.Nullable;

/** Lets a request pass whose token allows the operation, and notes its {@link Caller}. */
class TokenFilter {

    private static final String SCHEME = "Bearer ";
    /** Longer ones are no tokens; hashing them would be work for nothing. */
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
    @Requires.Admin
    Uni<@Nullable Response> admin(ContainerRequestContext request) {
        return require(request, Scope.ADMIN);
    }

    private Uni<@Nullable Response> require(ContainerRequestContext request, Scope scope) {
        String header = request.getHeaderString(HttpHeaders.AUTHORIZATION);
        if (header == null || !header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            throw new ProblemException(ProblemType.UNAUTHORIZED, "Send a token: \"Authorization: Bearer annals_…\".");
        }
        String token = header.substring(SCHEME.length()).strip();
        if (token.isEmpty() || token.length() > MAX_LENGTH) {
            throw new ProblemException(ProblemType.UNAUTHORIZED, "This is no token that the service gave out.");
        }
        return tokens.callerOf(token).map(caller -> {
            if (caller == null) {
                throw new ProblemException(
                        ProblemType.UNAUTHORIZED, "The token is unknown. Ask the administrator for a new one.");
            }
            if (!caller.scopes().contains(scope)) {
                throw new ProblemException(
                        ProblemType.FORBIDDEN, "This operation needs a token with the scope \"" + scope.text() + "\".");
            }
            request.setProperty(Caller.PROPERTY, caller);
            return null;
        });
    }
}
