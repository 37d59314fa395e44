package dev.annals.access.sessions;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limits;
import dev.annals.access.openid.ProvenToken;
import dev.annals.access.openid.Provider;
import dev.annals.access.openid.Provider.BadToken;
import dev.annals.access.openid.SignIn;
import dev.annals.access.tokens.AccessTokens;
import dev.annals.access.tokens.LookUpBounds;
import dev.annals.access.tokens.TokenConfig;
import dev.annals.access.tokens.TokenHash;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Bulkhead;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.Cookie;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Identities with a token of the OpenID provider, and the projects that grants open to them. */
@ApplicationScoped
public class Identities {

    private static final Sql FIND_IDENTITY_GRANTS = Sql.named("access/sessions/find_identity_grants");
    private static final Sql ENTER_IDENTITY = Sql.named("access/sessions/enter_identity");
    /** Browsers accept this name only over TLS, for this host alone. */
    private static final String SECURE_COOKIE = "__Host-annals-session";
    /** For http on the loopback. */
    private static final String PLAIN_COOKIE = "annals-session";

    private static final int KNOWN = 10_000;
    private static final String TOO_MANY = "Too many identities are being looked up. Send the request again later.";

    private final Provider provider;
    private final SignIn signIn;
    private final AccessTokens tokens;
    private final Pool reads;
    private final Pool pool;
    private final Bulkhead lane;
    /** Saves checking a signature and a query per request. */
    private final Cache<TokenHash, Known> known;

    /** Requests with the same token share one query. */
    private final Map<TokenHash, Uni<Identity>> lookUps = new ConcurrentHashMap<>();

    /** @param changes {@link AccessTokens#changes} before the look-up */
    private record Known(Identity identity, long changes) {}

    Identities(
            Provider provider,
            SignIn signIn,
            AccessTokens tokens,
            Databases databases,
            TokenConfig limits,
            LookUpBounds bounds) {
        this.provider = provider;
        this.signIn = signIn;
        this.tokens = tokens;
        this.reads = databases.home().polls();
        this.pool = databases.home().pool();
        this.lane = new Bulkhead(bounds.atATime(), bounds.waiting(), LookUpBounds.WAIT, TOO_MANY);
        this.known = Caffeine.newBuilder()
                .maximumSize(KNOWN)
                .expireAfterWrite(limits.recheck())
                .build();
    }

    boolean mayBeToken(String text) {
        return provider.takesBearers() && text.startsWith("eyJ");
    }

    /**
     * The cookie contains the provider's ID token, which is checked with every request. Scripts cannot read it, and requests
     * from other sites do not carry it.
     */
    String sessionCookie() {
        return signIn.isSecure() ? SECURE_COOKIE : PLAIN_COOKIE;
    }

    /**
     * Null if a request has no cookie, or sign-in is not configured. With TLS, no other cookie counts: a neighbouring host
     * could have set it.
     */
    @Nullable
    Cookie session(Map<String, Cookie> cookies) {
        return provider.takesSignIns() ? cookies.get(sessionCookie()) : null;
    }

    /**
     * The identity of a bearer token.
     *
     * @return fails with {@link BadToken}
     */
    Uni<Identity> withBearer(String token, Supplier<String> address) {
        return with(TokenHash.of("bearer " + token), () -> provider.bearer(token), address);
    }

    /** The identity may only read. Fails as {@link #withBearer} does. */
    Uni<Identity> withSession(String idToken, Supplier<String> address) {
        return with(TokenHash.of("session " + idToken), () -> provider.idToken(idToken), address)
                .map(Identity::reading);
    }

    private Uni<Identity> with(TokenHash hash, Supplier<Uni<ProvenToken>> prove, Supplier<String> address) {
        Known found = known.getIfPresent(hash);
        if (found != null && found.changes == tokens.changes() && Instant.now().isBefore(found.identity.expiresAt())) {
            return Uni.createFrom().item(found.identity);
        }
        String from = address.get();
        return lookUps.computeIfAbsent(hash, same -> {
            long changes = tokens.changes();
            return prove.get()
                    .chain(token -> lane.run(() -> lookUp(token, from)))
                    .invoke(identity -> known.put(hash, new Known(identity, changes)))
                    .onTermination()
                    .invoke(() -> lookUps.remove(hash))
                    .memoize()
                    .indefinitely();
        });
    }

    private Uni<Identity> lookUp(ProvenToken token, String address) {
        List<ProvenToken.Claim> claims = token.texts();
        return DatabaseFailure.retried(FIND_IDENTITY_GRANTS
                        .bind("issuer", token.issuer())
                        .bind("subject", token.subject())
                        .bind(
                                "claims",
                                claims.stream().map(ProvenToken.Claim::name).toArray(String[]::new))
                        .bind(
                                "values",
                                claims.stream().map(ProvenToken.Claim::value).toArray(String[]::new))
                        .execute(reads))
                .chain(rows -> {
                    Identity identity = read(token, rows);
                    return entered(token, rows, address).replaceWith(identity);
                });
    }

    /** The first use of each grant is an event. A hot standby stores no events. */
    private Uni<Void> entered(ProvenToken token, RowSet<Row> rows, String address) {
        List<UUID> unused = new ArrayList<>();
        for (Row row : rows) {
            if (!row.getBoolean("entered")) {
                unused.add(row.getUUID("id"));
            }
        }
        return unused.isEmpty()
                ? Uni.createFrom().voidItem()
                : ENTER_IDENTITY
                        .bind("issuer", token.issuer())
                        .bind("subject", token.subject())
                        .bind("grant_ids", unused.toArray(UUID[]::new))
                        .bind("address", address)
                        .execute(pool)
                        .replaceWithVoid()
                        .onFailure(DatabaseFailure::onlyReads)
                        .recoverWithNull();
    }

    private static Identity read(ProvenToken token, RowSet<Row> rows) {
        Map<UUID, Identity.OpenProject> projects = new LinkedHashMap<>();
        UUID id = null;
        for (Row row : rows) {
            id = row.getUUID("identity_id");
            UUID project = row.getUUID("project_id");
            Set<Scope> scopes = EnumSet.noneOf(Scope.class);
            for (String scope : row.getArrayOfStrings("scopes")) {
                Scope.of(scope).ifPresent(scopes::add);
            }
            Identity.OpenProject opened = new Identity.OpenProject(
                    project,
                    row.getString("project_name"),
                    scopes,
                    row.getBoolean("closed"),
                    Limits.of(row.getString("project_limits")),
                    Limits.of(row.getString("limits")),
                    Set.of(row.getUUID("id")),
                    row.getLong("catalogue_version"));
            projects.merge(project, opened, Identity.OpenProject::and);
        }
        return new Identity(id, token.issuer(), token.subject(), token.expiresAt(), List.copyOf(projects.values()));
    }
}
