package dev.annals.project;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.config.AnnalsConfig;
import dev.annals.connection.ClientAddress;
import dev.annals.database.DatabaseFailure;
import dev.annals.database.Reads;
import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.http.Bulkhead;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Bearer tokens: {@code annals_} and 256 random bits. The database only holds their SHA-256, and logs never contain them.
 */
@ApplicationScoped
public class AccessTokens {

    private static final Sql FIND_TOKEN = Sql.named("find_token");
    private static final Sql ADD_TOKEN = Sql.named("add_token");
    private static final Sql ADD_ADMIN_TOKEN = Sql.named("add_admin_token");
    private static final Pattern FORM = Pattern.compile("annals_[A-Za-z0-9_-]{43}");
    private static final String TOO_MANY = "Too many tokens are being looked up. Send the request again later.";
    private static final Caller ADMIN = new Caller(null, EnumSet.of(Scope.ADMIN), null);

    private final Pool reads;
    private final Pool pool;
    private final SequentialGuid guids;
    private final SecureRandom random = new SecureRandom();
    /** The hash of {@code ANNALS_ADMIN_TOKEN}. If that is set, the admin token in the database does not count. */
    private final Optional<Hash> configuredAdmin;
    /** Saves a query per request. A token that is deleted from the database stays valid as long as it is held here. */
    private final Cache<Hash, Caller> known = Caffeine.newBuilder()
            .maximumSize(10_000)
            .expireAfterWrite(Duration.ofSeconds(30))
            .build();

    /** Tokens that were recently valid. They need not wait behind other look-ups. */
    private final Cache<Hash, Boolean> proven = Caffeine.newBuilder()
            .maximumSize(10_000)
            .expireAfterAccess(Duration.ofHours(1))
            .build();

    /** Tokens that were recently looked up and not found. */
    private final Cache<Hash, Boolean> unknown;

    private final TokenFailures failures;
    private final Bulkhead lane;
    /** For addresses with too many failures, because a valid token may come from there, too. */
    private final Bulkhead suspectLane;

    /** Queries in flight: requests with the same token share one query. */
    private final Map<Hash, Uni<@Nullable Caller>> lookUps = new ConcurrentHashMap<>();

    AccessTokens(@Reads Pool reads, Pool pool, SequentialGuid guids, AnnalsConfig config, TokenConfig limits) {
        this.reads = reads;
        this.pool = pool;
        this.guids = guids;
        this.configuredAdmin = config.adminToken().map(Hash::of);
        this.unknown = Caffeine.newBuilder()
                .maximumSize(10_000)
                .expireAfterWrite(limits.unknownTime())
                .build();
        this.failures = new TokenFailures(limits);
        this.lane = new Bulkhead(limits.lookUps(), limits.waitingLookUps(), limits.lookUpWait(), TOO_MANY);
        this.suspectLane = new Bulkhead(1, limits.waitingSuspects(), limits.lookUpWait(), TOO_MANY);
    }

    /** The SHA-256 of a token, as hexadecimal digits: comparing hashes tells an attacker nothing about tokens. */
    private record Hash(String hex) {

        static Hash of(String token) {
            try {
                byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
                return new Hash(HexFormat.of().formatHex(hash));
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every Java platform has SHA-256", e);
            }
        }

        Buffer buffer() {
            return Buffer.buffer(HexFormat.of().parseHex(hex));
        }
    }

    /**
     * Finds the caller that a token belongs to; null if the token is unknown.
     *
     * @param address where the request comes from: a {@link ClientAddress}
     */
    Uni<@Nullable Caller> callerOf(String token, Supplier<String> address) {
        if (configuredAdmin.isEmpty() && !FORM.matcher(token).matches()) {
            return Uni.createFrom().nullItem();
        }
        Hash hash = Hash.of(token);
        if (configuredAdmin.isPresent() && configuredAdmin.get().equals(hash)) {
            return Uni.createFrom().item(ADMIN);
        }
        Caller caller = known.getIfPresent(hash);
        if (caller != null) {
            return Uni.createFrom().item(caller);
        }
        if (unknown.getIfPresent(hash) != null || !FORM.matcher(token).matches()) {
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
                            .transform(full -> failures.problem()));
        }
        return lookUps.computeIfAbsent(hash, same -> inTurn(same, lane));
    }

    /**
     * Counts a request without a valid token.
     *
     * @return what to answer it with: {@code unauthorized}, or {@code too-many-failures}
     */
    ProblemException refused(Supplier<String> address, String detail) {
        String client = address.get();
        boolean tooMany = failures.tooMany(client);
        failures.add(client);
        return tooMany ? failures.problem() : new ProblemException(ProblemType.UNAUTHORIZED, detail);
    }

    private Uni<@Nullable Caller> inTurn(Hash hash, Bulkhead turns) {
        return turns.run(() -> find(hash))
                .onTermination()
                .invoke(() -> lookUps.remove(hash))
                .memoize()
                .indefinitely();
    }

    private Uni<@Nullable Caller> lookUp(Hash hash) {
        return find(hash)
                .onTermination()
                .invoke(() -> lookUps.remove(hash))
                .memoize()
                .indefinitely();
    }

    private Uni<@Nullable Caller> find(Hash hash) {
        return DatabaseFailure.retried(FIND_TOKEN
                        .bind("token_hash", hash.buffer())
                        .execute(reads)
                        .map(this::readCaller))
                .invoke(found -> {
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
            UUID project = row.getUUID("project_id");
            if (project == null && configuredAdmin.isPresent()) {
                return null;
            }
            Set<Scope> scopes = EnumSet.noneOf(Scope.class);
            for (String scope : row.getArrayOfStrings("scopes")) {
                Scope.of(scope).ifPresent(scopes::add);
            }
            return new Caller(project, scopes, row.getUUID("id"));
        }
        return null;
    }

    /**
     * Makes a token for a project.
     *
     * @return the token itself, which cannot be retrieved later
     */
    Uni<NewToken> add(UUID projectId, Set<Scope> scopes, @Nullable String description) {
        NewToken token = new NewToken(guids.next(), newToken());
        Hash hash = Hash.of(token.token());
        return ADD_TOKEN
                .bind("id", token.id())
                .bind("project_id", projectId)
                .bind("token_hash", hash.buffer())
                .bind("scopes", scopes.stream().map(Scope::text).toArray(String[]::new))
                .bind("description", description)
                .execute(pool)
                .invoke(() -> unknown.invalidate(hash))
                .replaceWith(token);
    }

    /** Makes the admin token, unless it is configured or exists already: then there is nothing to show. */
    Uni<Optional<String>> addAdmin() {
        if (configuredAdmin.isPresent()) {
            return Uni.createFrom().item(Optional.empty());
        }
        String token = newToken();
        return ADD_ADMIN_TOKEN
                .bind("id", guids.next())
                .bind("token_hash", Hash.of(token).buffer())
                .execute(pool)
                .map(rows -> rows.iterator().hasNext() ? Optional.of(token) : Optional.empty());
    }

    private String newToken() {
        byte[] bytes = new byte[32];
        random.nextBytes(bytes);
        return "annals_" + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** A new token. */
    record NewToken(UUID id, String token) {}
}
