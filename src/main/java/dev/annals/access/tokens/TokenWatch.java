package dev.annals.access.tokens;

import dev.annals.access.caller.Caller;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.quarantine.ClientConnection;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Background work on tokens: ends long requests (streams, long polls, exports, imports) whose token has ended, and records last
 * uses, expiries and failures.
 */
@ApplicationScoped
public class TokenWatch {

    private static final Logger LOG = Logger.getLogger(TokenWatch.class);
    private static final Sql CHECK_TOKENS = Sql.named("access/tokens/check_tokens");
    private static final Sql CHECK_IDENTITY_GRANTS = Sql.named("access/tokens/check_identity_grants");
    private static final Sql NOTE_TOKEN_USE = Sql.named("access/tokens/note_token_use");
    private static final Sql EXPIRE_TOKENS = Sql.named("access/tokens/expire_tokens");
    private static final int AT_ONCE = 1_000;
    private static final int EXPIRED_AT_ONCE = 100;
    private static final long NOTE_MILLIS = 10_000;
    private static final long EXPIRE_MILLIS = 30_000;
    private static final long FAILURES_MILLIS = 60_000;

    private final AccessTokens tokens;
    private final OperationEvents operations;
    private final Pool reads;
    private final Pool pool;
    private final Vertx vertx;
    private final long recheckMillis;
    /** By {@link Caller#key}. */
    private final ConcurrentMap<UUID, LongRequests> longRequests = new ConcurrentHashMap<>();

    private final List<Long> timers = new ArrayList<>();

    TokenWatch(AccessTokens tokens, OperationEvents operations, Databases databases, Vertx vertx, TokenConfig config) {
        this.tokens = tokens;
        this.operations = operations;
        this.reads = databases.home().reads();
        this.pool = databases.home().pool();
        this.vertx = vertx;
        this.recheckMillis = config.recheck().toMillis();
    }

    void start(@Observes StartupEvent event) {
        every(recheckMillis, this::checkLongRequests);
        every(NOTE_MILLIS, this::noteUse);
        every(EXPIRE_MILLIS, this::recordExpiries);
        every(FAILURES_MILLIS, this::recordFailures);
    }

    void stop(@Observes ShutdownEvent event) {
        timers.forEach(vertx::cancelTimer);
    }

    private void every(long millis, WatchTask task) {
        AtomicBoolean running = new AtomicBoolean();
        timers.add(vertx.setPeriodic(millis, tick -> {
            if (running.compareAndSet(false, true)) {
                task.run()
                        .onTermination()
                        .invoke(() -> running.set(false))
                        .subscribe()
                        .with(
                                done -> {},
                                failure -> LOG.debug(
                                        "Background work on tokens failed. The service tries again.", failure));
            }
        }));
    }

    private interface WatchTask {
        Uni<Void> run();
    }

    private static final class LongRequests {
        final Map<HttpServerRequest, Caller> requests = new ConcurrentHashMap<>();
        volatile @Nullable Limits ofProject;
        volatile @Nullable Limits ofToken;
    }

    public Caller withLimitsOfNow(Caller caller) {
        LongRequests found = caller.token() == null ? null : longRequests.get(caller.key());
        Limits ofProject = found == null ? null : found.ofProject;
        Limits ofToken = found == null ? null : found.ofToken;
        return ofProject == null
                ? caller
                // A grant's own limits do not change.
                : caller.withLimits(ofProject, ofToken == null ? caller.tokenLimits() : ofToken);
    }

    /** Drops the connection when the token ends. */
    public <T> Uni<T> whileValid(Caller caller, HttpServerRequest request, Uni<T> answer) {
        return Uni.createFrom().deferred(() -> {
            Runnable ended = follow(caller, request);
            return answer.onTermination().invoke(ended);
        });
    }

    /**
     * Drops the connection when the token ends. The configured admin token does not end.
     *
     * @return the caller runs it at the end of the request
     */
    public Runnable follow(Caller caller, HttpServerRequest request) {
        if (caller.token() == null) {
            return () -> {};
        }
        UUID key = caller.key();
        longRequests.compute(key, (id, known) -> {
            LongRequests all = known == null ? new LongRequests() : known;
            all.requests.put(request, caller);
            return all;
        });
        return () -> longRequests.computeIfPresent(key, (id, known) -> {
            known.requests.remove(request);
            return known.requests.isEmpty() ? null : known;
        });
    }

    private Uni<Void> checkLongRequests() {
        List<UUID> ids = new ArrayList<>();
        List<IdentityRequest> ofIdentities = new ArrayList<>();
        longRequests.forEach((key, known) -> known.requests.forEach((request, caller) -> {
            Caller.Entry entry = caller.entry();
            if (entry != null) {
                ofIdentities.add(new IdentityRequest(key, known, request, entry));
            } else if (ids.isEmpty() || !ids.get(ids.size() - 1).equals(key)) {
                ids.add(key);
            }
        }));
        // Expiry needs no database.
        Instant now = Instant.now();
        ofIdentities.stream()
                .filter(one -> !now.isBefore(one.entry.expiresAt()))
                .forEach(one -> ClientConnection.drop(one.request));
        Uni<Void> done = inParts(ids, CHECK_TOKENS, this::check);
        List<UUID> grants = ofIdentities.stream()
                .flatMap(one -> one.entry.grants().stream())
                .distinct()
                .toList();
        return done.chain(() -> inParts(grants, CHECK_IDENTITY_GRANTS, rows -> checkGrants(rows, ofIdentities)));
    }

    private Uni<Void> inParts(List<UUID> ids, Sql check, Consumer<RowSet<Row>> found) {
        Uni<Void> done = Uni.createFrom().voidItem();
        for (int from = 0; from < ids.size(); from += AT_ONCE) {
            UUID[] some =
                    ids.subList(from, Math.min(ids.size(), from + AT_ONCE)).toArray(UUID[]::new);
            done = done.chain(
                    () -> check.bind("ids", some).execute(reads).invoke(found).replaceWithVoid());
        }
        return done;
    }

    private record IdentityRequest(UUID key, LongRequests known, HttpServerRequest request, Caller.Entry entry) {}

    /** A request ends with the first of its grants. The client may send it again if it has others. */
    private void checkGrants(RowSet<Row> rows, List<IdentityRequest> ofIdentities) {
        Map<UUID, Limits> limits = new HashMap<>();
        Set<UUID> ended = new HashSet<>();
        for (Row row : rows) {
            limits.put(row.getUUID("id"), Limits.of(row.getString("project_limits")));
            if (row.getBoolean("ended")) {
                ended.add(row.getUUID("id"));
            }
        }
        if (!ended.isEmpty()) {
            tokens.changed();
        }
        for (IdentityRequest one : ofIdentities) {
            if (one.entry.grants().stream().anyMatch(ended::contains)) {
                ClientConnection.drop(one.request);
            } else {
                one.entry.grants().stream()
                        .map(limits::get)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .ifPresent(now -> one.known.ofProject = now);
            }
        }
    }

    private void check(RowSet<Row> rows) {
        for (Row row : rows) {
            UUID id = row.getUUID("id");
            LongRequests known = row.getBoolean("ended") ? longRequests.remove(id) : longRequests.get(id);
            if (known != null && row.getBoolean("ended")) {
                tokens.changed();
                known.requests.keySet().forEach(ClientConnection::drop);
            } else if (known != null) {
                known.ofProject = Limits.of(row.getString("project_limits"));
                known.ofToken = Limits.of(row.getString("token_limits"));
            }
        }
    }

    private Uni<Void> noteUse() {
        List<UUID> used = tokens.takeUsed();
        return used.isEmpty()
                ? Uni.createFrom().voidItem()
                : NOTE_TOKEN_USE
                        .bind("ids", used.toArray(UUID[]::new))
                        .execute(pool)
                        .replaceWithVoid();
    }

    /** In few events. */
    Uni<Void> recordFailures() {
        List<TokenFailures.Failures> taken = tokens.failures().take();
        AtomicInteger recorded = new AtomicInteger();
        Uni<Void> done = Uni.createFrom().voidItem();
        for (TokenFailures.Failures failures : taken) {
            done = done.chain(() -> operations.failed(failures).invoke(recorded::incrementAndGet));
        }
        return done.onFailure().invoke(() -> tokens.failures().giveBack(taken.subList(recorded.get(), taken.size())));
    }

    private Uni<Void> recordExpiries() {
        return EXPIRE_TOKENS.bind("most", EXPIRED_AT_ONCE).execute(pool).replaceWithVoid();
    }
}
