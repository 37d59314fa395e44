package dev.annals.access.tokens;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.caller.AddressRange;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Scope;
import dev.annals.access.caller.View;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Bearer tokens, as {@link TokenText} describes them. The database only holds their SHA-256, and logs never contain them.
 */
@ApplicationScoped
public class AccessTokens {

    /** How many look-ups may wait from addresses with too many failures; these are made one at a time, so that few suffice. */
    private static final int WAITING_SUSPECTS = 16;

    private static final Sql FIND_TOKEN = Sql.named("access/tokens/find_token");
    private static final Sql FIND_ADMINISTRATION = Sql.named("access/tokens/find_administration");
    private static final int KNOWN = 10_000;
    private static final int NOTED_AT_ONCE = 1_000;
    private static final String TOO_MANY = "Too many tokens are being looked up. Send the request again later.";

    private final Pool reads;
    /** The hash of {@code ANNALS_ADMIN_TOKEN}. */
    private final Optional<TokenHash> configuredAdmin;
    /** Who has the configured token; null until the database has said which the administration's project is. */
    private volatile @Nullable Caller admin;
    /** Saves a query per request. A token that has ended stays valid as long as it is held here. */
    private final Cache<TokenHash, Caller> known;

    private final AtomicLong changes = new AtomicLong();

    /** What was in use since it was last noted, each at most once an hour. */
    private final Set<UUID> used = ConcurrentHashMap.newKeySet();

    /** Tokens that were recently valid. They need not wait behind other look-ups. */
    private final Cache<TokenHash, Boolean> proven = Caffeine.newBuilder()
            .maximumSize(10_000)
            .expireAfterAccess(Duration.ofHours(1))
            .build();

    /** Tokens that were recently looked up and not found. */
    private final Cache<TokenHash, Boolean> unknown;

    private final TokenFailures failures;
    private final Bulkhead lane;
    /** For addresses with too many failures, because a valid token may come from there, too. */
    private final Bulkhead suspectLane;

    /** Queries in flight: requests with the same token share one query. */
    private final Map<TokenHash, Uni<@Nullable Caller>> lookUps = new ConcurrentHashMap<>();

    AccessTokens(@Reads Pool reads, AnnalsConfig config, TokenConfig limits, LookUpBounds lookUps) {
        this.reads = reads;
        this.configuredAdmin = ofSettings(config).map(TokenHash::of);
        this.known = Caffeine.newBuilder()
                .maximumSize(KNOWN)
                .expireAfterWrite(limits.recheck())
                .build();
        this.unknown = Caffeine.newBuilder()
                .maximumSize(10_000)
                .expireAfterWrite(limits.recheck())
                .build();
        this.failures = new TokenFailures(limits.failures());
        this.lane = new Bulkhead(lookUps.atATime(), lookUps.waiting(), LookUpBounds.WAIT, TOO_MANY);
        this.suspectLane = new Bulkhead(1, WAITING_SUSPECTS, LookUpBounds.WAIT, TOO_MANY);
    }

    /**
     * The admin token of the settings. One that a database has issued is none: it would count on after it was revoked there,
     * where a service is started from a shell that has it for its client.
     */
    public static Optional<String> ofSettings(AnnalsConfig config) {
        return config.adminToken().filter(token -> !TokenText.isToken(token));
    }

    /**
     * Finds the caller that a token belongs to; null if the token is unknown.
     *
     * @param address the sender's
     */
    public Uni<@Nullable Caller> callerOf(String token, Supplier<String> address) {
        // Most tokens are known: they are found by their hash alone.
        TokenHash hash = TokenHash.of(token);
        Caller caller = known.getIfPresent(hash);
        if (caller != null) {
            return Uni.createFrom().item(caller);
        }
        if (configuredAdmin.isPresent() && configuredAdmin.get().equals(hash)) {
            return configuredAdmin();
        }
        if (!TokenText.isToken(token) || unknown.getIfPresent(hash) != null) {
            return Uni.createFrom().nullItem();
        }
        Uni<@Nullable Caller> underWay = lookUps.get(hash);
        if (underWay != null) {
            return underWay;
        }
        if (proven.getIfPresent(hash) != null) {
            return lookUps.computeIfAbsent(hash, this::lookUp);
        }
        if (failures.tooMany(address.get())) {
            return lookUps.computeIfAbsent(
                    hash,
                    same -> inTurn(same, suspectLane)
                            .onFailure(ProblemException.class)
                            .transform(full -> TokenFailures.problem()));
        }
        return lookUps.computeIfAbsent(hash, same -> inTurn(same, lane));
    }

    /**
     * Counts a request without a valid token.
     *
     * @param address where it comes from
     * @return what to answer it with: {@code unauthorized}, or {@code too-many-failures}
     */
    public ProblemException refused(Supplier<String> address, String detail) {
        String sender = address.get();
        boolean tooMany = failures.tooMany(sender);
        failures.add(sender);
        return tooMany ? TokenFailures.problem() : new ProblemException(ProblemType.UNAUTHORIZED, detail);
    }

    /**
     * Refuses who comes from an address with too many failures, before anything is done that costs more than that.
     *
     * @throws ProblemException {@code too-many-failures}
     */
    public void requireFewFailures(Supplier<String> address) {
        if (failures.tooMany(address.get())) {
            throw TokenFailures.problem();
        }
    }

    private Uni<@Nullable Caller> inTurn(TokenHash hash, Bulkhead turns) {
        return turns.run(() -> found(hash, DatabaseFailure.retried(find(hash))))
                .onTermination()
                .invoke(() -> lookUps.remove(hash))
                .memoize()
                .indefinitely();
    }

    /**
     * Looks up a token that was valid a moment ago. While no primary can be reached, its requests wait, as appends do: otherwise a writer
     * would be refused only because its token is due to be looked up again.
     */
    private Uni<@Nullable Caller> lookUp(TokenHash hash) {
        return found(hash, DatabaseFailure.retriedFor(LookUpBounds.WAIT, find(hash)))
                .onTermination()
                .invoke(() -> lookUps.remove(hash))
                .memoize()
                .indefinitely();
    }

    private Uni<@Nullable Caller> find(TokenHash hash) {
        return FIND_TOKEN.bind("token_hash", hash.buffer()).execute(reads).map(this::readCaller);
    }

    private Uni<@Nullable Caller> found(TokenHash hash, Uni<@Nullable Caller> find) {
        return find.invoke(found -> {
            if (found != null) {
                known.put(hash, found);
                proven.put(hash, true);
            } else {
                unknown.put(hash, true);
                proven.invalidate(hash);
            }
        });
    }

    private @Nullable Caller readCaller(RowSet<Row> rows) {
        for (Row row : rows) {
            if (row.getBoolean("ended")) {
                return null;
            }
            if (!row.getBoolean("used") && used.size() < KNOWN) {
                used.add(row.getUUID("id"));
            }
            Set<Scope> scopes = EnumSet.noneOf(Scope.class);
            for (String scope : row.getArrayOfStrings("scopes")) {
                Scope.of(scope).ifPresent(scopes::add);
            }
            List<AddressRange> allowed = Arrays.stream(row.getArrayOfStrings("allowed_addresses"))
                    .map(range -> AddressRange.parse(range).orElseThrow())
                    .toList();
            return new Caller(
                    row.getUUID("project_id"),
                    scopes,
                    row.getUUID("id"),
                    row.getBoolean("closed"),
                    allowed,
                    Limits.of(row.getString("project_limits")),
                    Limits.of(row.getString("token_limits")),
                    scopes.contains(Scope.VIEW)
                            ? new View(row.getString("actor_id"), row.getString("subject_id"))
                            : null,
                    null);
        }
        return null;
    }

    private Uni<@Nullable Caller> configuredAdmin() {
        Caller caller = admin;
        if (caller != null) {
            return Uni.createFrom().item(caller);
        }
        return DatabaseFailure.retried(FIND_ADMINISTRATION.execute(reads)).map(rows -> {
            UUID project = rows.iterator().next().getUUID("id");
            Caller found = new Caller(
                    project, EnumSet.of(Scope.ADMIN), null, false, List.of(), Limits.NONE, Limits.NONE, null, null);
            admin = found;
            return found;
        });
    }

    /** Whether the settings name an admin token. */
    public boolean hasConfiguredAdmin() {
        return configuredAdmin.isPresent();
    }

    /** A token was issued: it counts at once, whoever has tried it before. */
    public void issued(TokenHash hash) {
        unknown.invalidate(hash);
    }

    /** Projects, tokens or grants were changed by way of this instance, where this counts at once. */
    public void changed() {
        changes.incrementAndGet();
        known.invalidateAll();
    }

    /** How often {@link #changed} was said: what was looked up before the last time no longer counts. */
    public long changes() {
        return changes.get();
    }

    TokenFailures failures() {
        return failures;
    }

    /** The tokens that were used and are to be noted, which is then the caller's task. */
    List<UUID> takeUsed() {
        List<UUID> taken = used.stream().limit(NOTED_AT_ONCE).toList();
        taken.forEach(used::remove);
        return taken;
    }
}
