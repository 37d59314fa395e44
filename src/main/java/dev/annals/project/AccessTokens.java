package dev.annals.project;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.config.AnnalsConfig;
import dev.annals.connection.ClientAddress;
import dev.annals.database.DatabaseFailure;
import dev.annals.database.Sql;
import dev.annals.guid.SequentialGuid;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.Tuple;
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
 * Bearer tokens: {@code annals_} and 256 random bits. The database holds their SHA-256 alone, and no log holds them at
 * all.
 */
@ApplicationScoped
public class AccessTokens {

    private static final String FIND_TOKEN = Sql.named("find_token");
    private static final String ADD_TOKEN = Sql.named("add_token");
    private static final String ADD_ADMIN_TOKEN = Sql.named("add_admin_token");
    private static final Pattern FORM = Pattern.compile("annals_[A-Za-z0-9_-]{43}");
    private static final Caller ADMIN = new Caller(null, EnumSet.of(Scope.ADMIN), null);

    private final Pool pool;
    private final SequentialGuid guids;
    private final SecureRandom random = new SecureRandom();
    /** The hash of {@code ANNALS_ADMIN_TOKEN}: where it is set, no admin token of the database counts. */
    private final Optional<Hash> configuredAdmin;
    /** Spares a query a request. A token that is taken out of the database stays valid for as long as this holds it. */
    private final Cache<Hash, Caller> known = Caffeine.newBuilder()
            .maximumSize(10_000)
            .expireAfterWrite(Duration.ofSeconds(30))
            .build();

    /** Tokens that were valid lately. Whatever else is being looked up, these need not wait behind it. */
    private final Cache<Hash, Boolean> proven = Caffeine.newBuilder()
            .maximumSize(10_000)
            .expireAfterAccess(Duration.ofHours(1))
            .build();

    /** Tokens that were looked up in vain a moment ago. */
    private final Cache<Hash, Boolean> unknown;

    private final TokenFailures failures;
    private final LookUpLane lane;
    /** For addresses with too many failures: a valid token may come from there, too. */
    private final LookUpLane suspectLane;

    /** Queries under way: all who waited and come back with one token take one query, not one each. */
    private final Map<Hash, Uni<@Nullable Caller>> lookUps = new ConcurrentHashMap<>();

    AccessTokens(Pool pool, SequentialGuid guids, AnnalsConfig config, TokenConfig limits) {
        this.pool = pool;
        this.guids = guids;
        this.configuredAdmin = config.adminToken().map(Hash::of);
        this.unknown = Caffeine.newBuilder()
                .maximumSize(10_000)
                .expireAfterWrite(limits.unknownTime())
                .build();
        this.failures = new TokenFailures(limits);
        this.lane = new LookUpLane(limits.lookUps(), limits.waitingLookUps(), limits.lookUpWait());
        this.suspectLane = new LookUpLane(1, limits.waitingSuspects(), limits.lookUpWait());
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
     * Finds whom a token stands for; null where it stands for nobody.
     *
     * @param address whom the request comes from: a {@link ClientAddress}
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

    private Uni<@Nullable Caller> inTurn(Hash hash, LookUpLane turns) {
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
        return DatabaseFailure.retried(pool.preparedQuery(FIND_TOKEN)
                        .execute(Tuple.of(hash.buffer()))
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
            UUID project = row.getUUID(0);
            if (project == null && configuredAdmin.isPresent()) {
                return null;
            }
            Set<Scope> scopes = EnumSet.noneOf(Scope.class);
            for (String scope : row.getArrayOfStrings(1)) {
                Scope.of(scope).ifPresent(scopes::add);
            }
            return new Caller(project, scopes, row.getUUID(2));
        }
        return null;
    }

    /**
     * Makes a token for a project.
     *
     * @return the token itself, which nobody can learn later
     */
    Uni<NewToken> add(UUID projectId, Set<Scope> scopes, @Nullable String description) {
        NewToken token = new NewToken(guids.next(), newToken());
        Hash hash = Hash.of(token.token());
        Tuple tuple = Tuple.tuple()
                .addUUID(token.id())
                .addUUID(projectId)
                .addValue(hash.buffer())
                .addArrayOfString(scopes.stream().map(Scope::text).toArray(String[]::new))
                .addString(description);
        return pool.preparedQuery(ADD_TOKEN)
                .execute(tuple)
                .invoke(() -> unknown.invalidate(hash))
                .replaceWith(token);
    }

    /** Makes the admin token, unless it is configured or was made before: then there is none to tell. */
    Uni<Optional<String>> addAdmin() {
        if (configuredAdmin.isPresent()) {
            return Uni.createFrom().item(Optional.empty());
        }
        String token = newToken();
        return pool.preparedQuery(ADD_ADMIN_TOKEN)
                .execute(Tuple.of(guids.next(), Hash.of(token).buffer()))
                .map(rows -> rows.iterator().hasNext() ? Optional.of(token) : Optional.empty());
    }

    private String newToken() {
        byte[] bytes = new byte[32];
        random.nextBytes(bytes);
        return "annals_" + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** A token that was just made. */
    record NewToken(UUID id, String token) {}
}
