package dev.annals.access.tokens;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.access.caller.AddressRange;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Scope;
import dev.annals.access.caller.View;
import dev.annals.access.limits.Limits;
import dev.annals.access.places.Places;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Looks up bearer tokens of the service ({@link TokenText}). The database stores only their SHA-256, and logs never contain
 * them.
 */
@ApplicationScoped
public class AccessTokens {

    /** Look-ups from clients with too many failures, made one at a time. */
    private static final int WAITING_SUSPECTS = 16;

    private static final Sql FIND_TOKEN = Sql.named("access/tokens/find_token");
    private static final Sql FIND_ADMINISTRATION = Sql.named("access/tokens/find_administration");
    private static final int KNOWN = 10_000;
    private static final int NOTED_AT_ONCE = 1_000;
    private static final String TOO_MANY = "Too many tokens are being looked up. Send the request again later.";

    /** As the setting of the token itself. */
    private static final Pattern ADMIN_TOKEN = Pattern.compile("[!-~]{16,256}");

    private static final int MAX_FILE_BYTES = 1_024;

    private final Pool reads;
    private final Places places;
    private final Optional<TokenHash> configuredAdmin;
    /** Null until the administration's project was read. */
    private volatile @Nullable Caller admin;
    /** Saves a query per request. A token that has ended stays valid while it is cached. */
    private final Cache<TokenHash, Caller> known;

    private final AtomicLong changes = new AtomicLong();

    /** To be recorded, each at most once an hour. */
    private final Set<UUID> used = ConcurrentHashMap.newKeySet();

    /** Recently valid tokens. They do not wait behind other look-ups. */
    private final Cache<TokenHash, Boolean> proven = Caffeine.newBuilder()
            .maximumSize(10_000)
            .expireAfterAccess(Duration.ofHours(1))
            .build();

    private final Cache<TokenHash, Boolean> unknown;

    private final TokenFailures failures;
    private final Bulkhead lane;
    /** For clients with too many failures, which may still send a valid token. */
    private final Bulkhead suspectLane;

    /** Requests with the same token share one query. */
    private final Map<TokenHash, Uni<@Nullable Caller>> lookUps = new ConcurrentHashMap<>();

    AccessTokens(Databases databases, Places places, AnnalsConfig config, TokenConfig limits, LookUpBounds lookUps) {
        this.reads = databases.home().polls();
        this.places = places;
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
     * Ignores a token that a database has issued: otherwise a service started from a client's shell would accept it after its
     * revocation.
     */
    public static Optional<String> ofSettings(AnnalsConfig config) {
        return given(config).filter(token -> !TokenText.isToken(token));
    }

    /**
     * The token of the settings, whether a database has issued it or not.
     *
     * @throws IllegalArgumentException if its file has none, with a sentence that does not repeat it
     */
    public static Optional<String> given(AnnalsConfig config) {
        return config.adminToken().or(() -> config.adminTokenFile().map(AccessTokens::read));
    }

    private static String read(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            String text = new String(in.readNBytes(MAX_FILE_BYTES), StandardCharsets.UTF_8).strip();
            if (ADMIN_TOKEN.matcher(text).matches()) {
                return text;
            }
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (ANNALS_ADMIN_TOKEN_FILE) cannot be read ("
                            + e.getClass().getSimpleName() + "). Name one that user " + System.getProperty("user.name")
                            + " may read.",
                    e);
        }
        throw new IllegalArgumentException("The file " + file
                + " (ANNALS_ADMIN_TOKEN_FILE) does not hold a token: 16 to 256 visible ASCII characters on one line.");
    }

    /** Null if the token is unknown. */
    public Uni<@Nullable Caller> callerOf(String token, Supplier<String> address) {
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
     * @return {@code unauthorized}, or {@code too-many-failures}
     */
    public ProblemException refused(Supplier<String> address, String detail) {
        String sender = address.get();
        boolean tooMany = failures.tooMany(sender);
        failures.add(sender);
        return tooMany ? TokenFailures.problem() : new ProblemException(ProblemType.UNAUTHORIZED, detail);
    }

    /**
     * Call this before expensive work.
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
     * Looks up a token that was valid a moment ago. Waits for the database as appends do: otherwise an outage would refuse a
     * writer whose cached token has just expired.
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
            places.note(row.getUUID("project_id"), row.getString("database"));
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
                    null,
                    row.getLong("catalogue_version"));
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
                    project, EnumSet.of(Scope.ADMIN), null, false, List.of(), Limits.NONE, Limits.NONE, null, null, 0);
            admin = found;
            return found;
        });
    }

    public boolean hasConfiguredAdmin() {
        return configuredAdmin.isPresent();
    }

    /** Makes a new token valid at once, even if it was tried before. */
    public void issued(TokenHash hash) {
        unknown.invalidate(hash);
    }

    /** Makes a change of projects, tokens or grants effective at once in this instance. */
    public void changed() {
        changes.incrementAndGet();
        known.invalidateAll();
    }

    /** Calls of {@link #changed}. Look-ups before the last one are stale. */
    public long changes() {
        return changes.get();
    }

    TokenFailures failures() {
        return failures;
    }

    /** The caller records the use. */
    List<UUID> takeUsed() {
        List<UUID> taken = used.stream().limit(NOTED_AT_ONCE).toList();
        taken.forEach(used::remove);
        return taken;
    }
}
