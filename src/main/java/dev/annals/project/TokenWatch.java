package dev.annals.project;

import dev.annals.connection.ClientConnection;
import dev.annals.database.Reads;
import dev.annals.database.Sql;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jboss.logging.Logger;

/**
 * What happens to tokens in the background: requests that last (streams, long polls, exports, imports) are cut off when their
 * token has ended; the hour of each token's last use is noted; expiries are recorded.
 */
@ApplicationScoped
public class TokenWatch {

    private static final Logger LOG = Logger.getLogger(TokenWatch.class);
    private static final Sql FIND_ENDED_TOKENS = Sql.named("find_ended_tokens");
    private static final Sql NOTE_TOKEN_USE = Sql.named("note_token_use");
    private static final Sql EXPIRE_TOKENS = Sql.named("expire_tokens");
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
    /** The requests that last, by token. */
    private final ConcurrentMap<UUID, Set<HttpServerRequest>> lasting = new ConcurrentHashMap<>();

    private final List<Long> timers = new ArrayList<>();

    TokenWatch(
            AccessTokens tokens,
            OperationEvents operations,
            @Reads Pool reads,
            Pool pool,
            Vertx vertx,
            TokenConfig config) {
        this.tokens = tokens;
        this.operations = operations;
        this.reads = reads;
        this.pool = pool;
        this.vertx = vertx;
        this.recheckMillis = config.recheck().toMillis();
    }

    void start(@Observes StartupEvent event) {
        every(recheckMillis, this::endLasting);
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
                        .with(done -> {}, failure -> LOG.debug("Tokens are looked after again later", failure));
            }
        }));
    }

    /** What is done again and again. */
    private interface WatchTask {
        Uni<Void> run();
    }

    /** Lets a request last as long as its token: then its connection is dropped. */
    public <T> Uni<T> whileValid(Caller caller, HttpServerRequest request, Uni<T> answer) {
        return Uni.createFrom().deferred(() -> {
            Runnable ended = follow(caller, request);
            return answer.onTermination().invoke(ended);
        });
    }

    /**
     * The same for a request that goes on after its answer was begun. The configured admin token does not end.
     *
     * @return to be called when the request has ended
     */
    public Runnable follow(Caller caller, HttpServerRequest request) {
        UUID token = caller.token();
        if (token == null) {
            return () -> {};
        }
        lasting.compute(token, (id, requests) -> {
            Set<HttpServerRequest> all = requests == null ? ConcurrentHashMap.newKeySet() : requests;
            all.add(request);
            return all;
        });
        return () -> lasting.computeIfPresent(token, (id, requests) -> {
            requests.remove(request);
            return requests.isEmpty() ? null : requests;
        });
    }

    private Uni<Void> endLasting() {
        List<UUID> ids = List.copyOf(lasting.keySet());
        Uni<Void> done = Uni.createFrom().voidItem();
        for (int from = 0; from < ids.size(); from += AT_ONCE) {
            UUID[] some =
                    ids.subList(from, Math.min(ids.size(), from + AT_ONCE)).toArray(UUID[]::new);
            done = done.chain(() -> FIND_ENDED_TOKENS
                    .bind("ids", some)
                    .execute(reads)
                    .invoke(this::end)
                    .replaceWithVoid());
        }
        return done;
    }

    private void end(RowSet<Row> rows) {
        for (Row row : rows) {
            Set<HttpServerRequest> ended = lasting.remove(row.getUUID("id"));
            if (ended != null) {
                tokens.changed();
                ended.forEach(ClientConnection::drop);
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

    /** Few events, however many failures there were. */
    Uni<Void> recordFailures() {
        List<FailedAuthentications.Failures> taken = tokens.takeFailed();
        AtomicInteger recorded = new AtomicInteger();
        Uni<Void> done = Uni.createFrom().voidItem();
        for (FailedAuthentications.Failures failures : taken) {
            done = done.chain(() -> operations.failed(failures).invoke(recorded::incrementAndGet));
        }
        return done.onFailure().invoke(() -> tokens.giveBackFailed(taken.subList(recorded.get(), taken.size())));
    }

    private Uni<Void> recordExpiries() {
        return EXPIRE_TOKENS.bind("most", EXPIRED_AT_ONCE).execute(pool).replaceWithVoid();
    }
}
