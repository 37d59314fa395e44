package dev.annals.project;

import dev.annals.connection.ClientAddress;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.openid.BadToken;
import io.smallrye.mutiny.Uni;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Cookie;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import java.util.Objects;
import java.util.function.Function;
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

    /** Room for many groups; a server's limit on headers is a little more than twice as much. */
    private static final int MAX_IDENTITY_LENGTH = 8_192;

    private static final String PROJECT = "Annals-Project";
    private static final String IDENTITY = "annals.identity";

    private final AccessTokens tokens;
    private final Identities identities;
    private final Usage usage;

    TokenFilter(AccessTokens tokens, Identities identities, Usage usage) {
        this.tokens = tokens;
        this.identities = identities;
        this.usage = usage;
    }

    @ServerRequestFilter
    @Requires.Read
    Uni<@Nullable Response> read(ContainerRequestContext request) {
        return require(request, Scope.READ);
    }

    @ServerRequestFilter
    @Requires.View
    Uni<@Nullable Response> view(ContainerRequestContext request) {
        return require(request, Scope.VIEW);
    }

    @ServerRequestFilter
    @Requires.Link
    Uni<@Nullable Response> link(ContainerRequestContext request) {
        return require(request, Scope.LINK);
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
    @Requires.Stream
    Uni<@Nullable Response> stream(ContainerRequestContext request) {
        return require(request, Scope.STREAM);
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

    /** Without a project: it counts as a request for the first one. */
    @ServerRequestFilter
    @Requires.Identified
    Uni<@Nullable Response> identified(ContainerRequestContext request) {
        Sender sender = Sender.current();
        return callerOf(request, sender, identity -> {
                    request.setProperty(IDENTITY, identity);
                    return identity.in(identity.anyProject(), false);
                })
                .map(caller -> {
                    admit(request, sender, caller, null);
                    return null;
                });
    }

    /** Who sent a request to an operation that is {@link Requires.Identified}; null if it came with a token of the service. */
    static @Nullable Identity identityOf(ContainerRequestContext request) {
        return (Identity) request.getProperty(IDENTITY);
    }

    /** Behind a trusted proxy it is the address that the proxy names. */
    private static String addressOf(ResteasyReactiveRequestContext request) {
        SocketAddress address =
                request.serverRequest().unwrap(RoutingContext.class).request().remoteAddress();
        return address.hostAddress() == null ? address.toString() : address.hostAddress();
    }

    private Uni<@Nullable Response> require(ContainerRequestContext request, @Nullable Scope scope) {
        Sender sender = Sender.current();
        return callerOf(
                        request,
                        sender,
                        identity -> identity.in(
                                request.getHeaderString(PROJECT), scope == Scope.AUDIT || scope == Scope.ADMIN))
                .map(caller -> {
                    admit(request, sender, caller, scope);
                    return null;
                });
    }

    private void admit(ContainerRequestContext request, Sender sender, Caller caller, @Nullable Scope scope) {
        caller.noteIn(sender.routing());
        requireAllowed(caller, scope, sender.address());
        request.setProperty(Caller.PROPERTY, caller);
        request.setProperty(Caller.ADDRESS, sender.address());
        usage.request(caller);
    }

    /** Where a request comes from. */
    record Sender(RoutingContext routing, Supplier<String> address) {

        static Sender current() {
            ResteasyReactiveRequestContext current =
                    Objects.requireNonNull(CurrentRequestManager.get(), "filters run in a request");
            return new Sender(current.serverRequest().unwrap(RoutingContext.class), () -> addressOf(current));
        }
    }

    /**
     * Finds who sent a request, by its token or by its session.
     *
     * @param choose what an identity is in this request
     * @return fails with {@code unauthorized}, and as {@code choose} does
     */
    private Uni<Caller> callerOf(ContainerRequestContext request, Sender sender, Function<Identity, Caller> choose) {
        String header = request.getHeaderString(HttpHeaders.AUTHORIZATION);
        Cookie session = header == null ? identities.session(request.getCookies()) : null;
        if (session != null) {
            return identity(identities.withSession(session.getValue(), sender.address()), sender, choose);
        }
        if (header == null || !header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            throw new ProblemException(ProblemType.UNAUTHORIZED, "Send a token: \"Authorization: Bearer annals_…\".");
        }
        String token = header.substring(SCHEME.length()).strip();
        if (identities.mayBeToken(token) && token.length() <= MAX_IDENTITY_LENGTH) {
            return identity(identities.withBearer(token, sender.address()), sender, choose);
        }
        if (token.isEmpty() || token.length() > MAX_LENGTH) {
            throw tokens.refused(sender.address(), "This is not a token that the service issued.");
        }
        return tokens.callerOf(token, () -> ClientAddress.of(sender.address().get()))
                .map(caller -> {
                    if (caller == null) {
                        throw tokens.refused(
                                sender.address(),
                                "The token is unknown, or has ended. Ask the administrator for a new one.");
                    }
                    return caller;
                });
    }

    private Uni<Caller> identity(Uni<Identity> found, Sender sender, Function<Identity, Caller> choose) {
        return found.onFailure(BadToken.class)
                .transform(bad -> tokens.refused(sender.address(), Objects.requireNonNull(bad.getMessage())))
                .map(choose);
    }

    private static void requireAllowed(Caller caller, @Nullable Scope scope, Supplier<String> address) {
        if (!caller.allowedAddresses().isEmpty() && !caller.mayComeFrom(address.get())) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN, "This token may not be used from this address. Ask the administrator.");
        }
        if (scope == null) {
            caller.requireWholeFeed();
            return;
        }
        if (!caller.may(scope)) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN,
                    "This operation needs a token with the scope \"" + (scope == Scope.VIEW ? Scope.READ : scope).text()
                            + "\".");
        }
        if (caller.closed() && (scope == Scope.WRITE || scope == Scope.SEQUENCE)) {
            throw Caller.projectClosed();
        }
    }
}
