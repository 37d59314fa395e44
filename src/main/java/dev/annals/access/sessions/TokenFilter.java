package dev.annals.access.sessions;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limited;
import dev.annals.access.limits.Usage;
import dev.annals.access.openid.Provider.BadToken;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.kernel.connection.TrustedProxies;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.ResourceMethods;
import dev.annals.kernel.http.ResourceMethods.ResourceMethod;
import io.quarkus.runtime.Startup;
import io.smallrye.mutiny.Uni;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Singleton;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ResourceInfo;
import jakarta.ws.rs.core.Cookie;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jboss.resteasy.reactive.server.ServerRequestFilter;
import org.jspecify.annotations.Nullable;

/** Finds the {@link Caller} of each request, and checks the scope that the operation {@link Requires}. */
@Singleton
@Startup // finds operations without @Requires before a request does
public class TokenFilter {

    private static final String SCHEME = "Bearer ";
    /** Longer texts are no tokens and are not hashed. */
    private static final int MAX_LENGTH = 512;

    /** Room for many groups, within quarkus.http.limits.max-header-size. */
    private static final int MAX_IDENTITY_LENGTH = 24_576;

    private static final String PROJECT = "Annals-Project";
    private static final String IDENTITY = "annals.identity";

    private final AccessTokens tokens;
    private final Identities identities;
    private final Usage usage;
    private final TrustedProxies proxies;
    private final Map<Method, Requires> required;

    TokenFilter(
            AccessTokens tokens,
            Identities identities,
            Usage usage,
            ResourceMethods operations,
            TrustedProxies proxies) {
        this.tokens = tokens;
        this.identities = identities;
        this.usage = usage;
        this.proxies = proxies;
        this.required = operations.all().stream()
                .map(ResourceMethod::method)
                .collect(Collectors.toUnmodifiableMap(Function.identity(), TokenFilter::required));
    }

    /**
     * Reads an operation's annotation, or the one of its class.
     *
     * @throws IllegalStateException without an annotation, with several scopes, or with a scope and no token
     */
    public static Requires required(Method operation) {
        Requires own = operation.getAnnotation(Requires.class);
        Requires requires = own == null ? operation.getDeclaringClass().getAnnotation(Requires.class) : own;
        if (requires == null) {
            throw new IllegalStateException(operation + " does not declare its scope: add @Requires");
        }
        if (requires.value().length > (requires.token() && requires.project() ? 1 : 0)) {
            throw new IllegalStateException(operation + " has a scope too many in " + requires);
        }
        return requires;
    }

    @ServerRequestFilter
    Uni<@Nullable Response> check(ContainerRequestContext request, RoutingContext routing, ResourceInfo operation) {
        // The framework looks the method up once.
        Requires requires = required.get(operation.getResourceMethod());
        if (requires == null) {
            throw new IllegalStateException(operation.getResourceMethod() + " was not found at the start");
        }
        if (!requires.token()) {
            return Uni.createFrom().nullItem();
        }
        Scope scope = requires.value().length == 0 ? null : requires.value()[0];
        Sender sender = new Sender(routing, proxies);
        return callerOf(request, sender, identity -> {
                    if (requires.project()) {
                        return identity.in(
                                request.getHeaderString(PROJECT), scope != null && scope.isOfAdministration());
                    }
                    request.setProperty(IDENTITY, identity);
                    // The request counts for the first project.
                    return identity.in(identity.anyProject(), false);
                })
                .map(caller -> {
                    admit(request, sender, caller, scope);
                    return null;
                });
    }

    /** Null for a token of the service. Set where an operation requires no project. */
    static @Nullable Identity identityOf(ContainerRequestContext request) {
        return (Identity) request.getProperty(IDENTITY);
    }

    private void admit(ContainerRequestContext request, Sender sender, Caller caller, @Nullable Scope scope) {
        caller.noteIn(sender.routing());
        requireAllowed(caller, scope, sender.address());
        request.setProperty(Limited.PROPERTY, caller);
        request.setProperty(Caller.ADDRESS, sender.address());
        usage.request(caller);
    }

    record Sender(RoutingContext routing, TrustedProxies proxies) {

        Supplier<String> address() {
            return () -> proxies.client(routing.request());
        }
    }

    /**
     * @param choose makes a caller of an identity
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
        if (identities.mayBeToken(token)) {
            if (token.length() > MAX_IDENTITY_LENGTH) {
                throw tokens.refused(
                        sender.address(),
                        "The token has " + token.length() + " characters and may have " + MAX_IDENTITY_LENGTH
                                + ". Let the OpenID provider put fewer groups into it.");
            }
            return identity(identities.withBearer(token, sender.address()), sender, choose);
        }
        if (token.isEmpty() || token.length() > MAX_LENGTH) {
            throw tokens.refused(sender.address(), "This is not a token that the service issued.");
        }
        return tokens.callerOf(token, sender.address()).map(caller -> {
            if (caller == null) {
                throw tokens.refused(
                        sender.address(), "The token is unknown, or has ended. Ask the administrator for a new one.");
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
            caller.requireNoLink();
            return;
        }
        if (!caller.may(scope)) {
            throw new ProblemException(
                    ProblemType.FORBIDDEN,
                    "This operation needs a token with the scope \""
                            + scope.ofTokens().text() + "\".");
        }
        if (caller.closed() && (scope == Scope.WRITE || scope == Scope.SEQUENCE)) {
            throw Caller.projectClosed();
        }
    }
}
