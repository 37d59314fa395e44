package dev.annals.access.sessions;

import dev.annals.access.caller.Requires;
import dev.annals.access.openid.ProvenToken;
import dev.annals.access.openid.Provider;
import dev.annals.access.openid.Provider.BadToken;
import dev.annals.access.openid.SignIn;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.kernel.connection.TrustedProxies;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.common.annotation.NonBlocking;
import io.smallrye.mutiny.Uni;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Cookie;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Signing in to the viewer with the OpenID provider: {@code /v1/session}. A session is the provider's ID token in a cookie. It can
 * only read, and ends with the token.
 */
@Path("/v1/session")
@Requires(token = false)
@Produces(MediaType.APPLICATION_JSON)
public class SessionResource {

    private static final int SIZE = 512;
    private static final long SIGN_IN_SECONDS = 600;

    private final Identities identities;
    private final Provider provider;
    private final SignIn signIn;
    private final AccessTokens tokens;
    private final TrustedProxies proxies;

    SessionResource(
            Identities identities, Provider provider, SignIn signIn, AccessTokens tokens, TrustedProxies proxies) {
        this.identities = identities;
        this.proxies = proxies;
        this.provider = provider;
        this.signIn = signIn;
        this.tokens = tokens;
    }

    @GET
    public Uni<Response> showSession(@Context ContainerRequestContext request) {
        Cookie cookie = identities.session(request.getCookies());
        return cookie == null
                ? Uni.createFrom().item(shown(null))
                : provider.idToken(cookie.getValue())
                        .map(this::shown)
                        .onFailure(BadToken.class)
                        .recoverWithItem(() -> shown(null));
    }

    private Response shown(@Nullable ProvenToken token) {
        return JsonBody.answer(Response.Status.OK, SIZE, json -> {
            json.writeStartObject();
            json.writeStringField("provider", provider.takesSignIns() ? provider.issuer() : null);
            json.writeStringField("subject", token == null ? null : token.subject());
            json.writeStringField("name", claim(token, "name"));
            json.writeStringField("email", claim(token, "email"));
            json.writeStringField(
                    "expires_at", token == null ? null : token.expiresAt().toString());
            json.writeEndObject();
        });
    }

    private static @Nullable String claim(@Nullable ProvenToken token, String name) {
        return token == null
                ? null
                : token.texts().stream()
                        .filter(claim -> claim.name().equals(name))
                        .map(ProvenToken.Claim::value)
                        .findFirst()
                        .orElse(null);
    }

    @GET
    @Path("/sign-in")
    public Uni<Response> beginSignIn() {
        requireSignIns();
        return signIn.begin()
                .map(begun -> Response.seeOther(URI.create(begun.url()))
                        .header(
                                HttpHeaders.SET_COOKIE,
                                // Lax: the provider's page redirects back.
                                cookie(signInName(), begun.memory(), SIGN_IN_SECONDS, "Lax"))
                        .build());
    }

    @GET
    @Path("/callback")
    public Uni<Response> finishSignIn(@Context RoutingContext routing, @Context ContainerRequestContext request) {
        requireSignIns();
        TokenFilter.Sender sender = new TokenFilter.Sender(routing, proxies);
        tokens.requireFewFailures(sender.address());
        MultivaluedMap<String, String> answer = request.getUriInfo().getQueryParameters();
        Cookie memory = request.getCookies().get(signInName());
        return signIn.finish(
                        memory == null ? null : memory.getValue(),
                        answer.getFirst("state"),
                        answer.getFirst("code"),
                        answer.getFirst("iss"))
                .map(done -> back("").header(
                                HttpHeaders.SET_COOKIE,
                                cookie(
                                        identities.sessionCookie(),
                                        done.idToken(),
                                        Math.max(
                                                0,
                                                Duration.between(
                                                                Instant.now(),
                                                                done.token().expiresAt())
                                                        .toSeconds()),
                                        "Strict"))
                        .build())
                .onFailure(SignIn.Failed.class)
                .recoverWithItem(failure -> {
                    SignIn.Failure why = failure.why();
                    if (why == SignIn.Failure.BAD || why == SignIn.Failure.UNKNOWN) {
                        tokens.refused(sender.address(), "");
                    }
                    return back("#sign-in="
                                    + why.name().toLowerCase(Locale.ROOT).replace('_', '-'))
                            .build();
                });
    }

    private Response.ResponseBuilder back(String fragment) {
        return Response.seeOther(URI.create(signIn.viewer() + fragment))
                .header(HttpHeaders.SET_COOKIE, cookie(signInName(), "", 0, "Lax"));
    }

    /** The browser deletes the cookie. The provider's own session stays. */
    @DELETE
    @NonBlocking
    public Response signOut() {
        return Response.noContent()
                .header(HttpHeaders.SET_COOKIE, cookie(identities.sessionCookie(), "", 0, "Strict"))
                .build();
    }

    private void requireSignIns() {
        if (!provider.takesSignIns()) {
            throw new ProblemException(ProblemType.NOT_FOUND, "Sign-in is not configured. Use a token.");
        }
    }

    private String signInName() {
        return signIn.isSecure() ? "__Host-annals-sign-in" : "annals-sign-in";
    }

    private String cookie(String name, String value, long seconds, String sameSite) {
        return name + "=" + value + "; Path=/; Max-Age=" + seconds + "; HttpOnly; SameSite=" + sameSite
                + (signIn.isSecure() ? "; Secure" : "");
    }
}
