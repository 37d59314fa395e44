package dev.annals.kernel.database;

import dev.annals.kernel.database.DatabaseUrl.Target;
import io.vertx.core.Future;
import io.vertx.sqlclient.SqlConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The servers of one URL. A connection to the primary tries the last known one first, then the others, so that a failover needs
 * no proxy. Standbys take turns. Thread-safe.
 *
 * @param <O> the options with which a server is connected to
 */
final class Servers<O> {

    private static final Logger LOG = Logger.getLogger(Servers.class);

    private final DatabaseUrl url;
    private final List<O> servers;
    private final Target target;
    private final Timelines timelines;
    /** The index of the server to try first. */
    private final AtomicInteger next = new AtomicInteger();

    record Found<O, C>(O server, C connection, Session session) {}

    /** @param timelines shared by all pools of one database */
    Servers(DatabaseUrl url, List<O> servers, Timelines timelines) {
        this.url = url;
        this.servers = List.copyOf(servers);
        this.target = url.target();
        this.timelines = timelines;
    }

    /**
     * Fails if no server fits.
     *
     * @param look reads the session of a connection; {@link UnusableSessionException} ends the search, as no other server helps
     */
    <C extends SqlConnection> Future<Found<O, C>> connect(
            Function<O, Future<C>> open, Function<C, Future<Session>> look) {
        return new Search<>(open, look, attempts()).next(null);
    }

    private record Attempt(int server, Target wanted) {
        boolean accepts(Session session) {
            return switch (wanted) {
                case ANY, PREFER_STANDBY -> true;
                case PRIMARY -> !session.standby();
                case STANDBY -> session.standby();
            };
        }
    }

    private List<Attempt> attempts() {
        boolean standbys = target == Target.STANDBY || target == Target.PREFER_STANDBY;
        int first = standbys ? next.getAndIncrement() : next.get();
        List<Attempt> attempts = new ArrayList<>();
        for (Target wanted : target == Target.PREFER_STANDBY ? List.of(Target.STANDBY, Target.ANY) : List.of(target)) {
            for (int i = 0; i < servers.size(); i++) {
                attempts.add(new Attempt(Math.floorMod(first + i, servers.size()), wanted));
            }
        }
        return attempts;
    }

    private void remember(Attempt attempt) {
        if (target == Target.PRIMARY && next.getAndSet(attempt.server) != attempt.server) {
            LOG.infof("The primary of the database is now %s", url.servers().get(attempt.server));
        }
    }

    private final class Search<C extends SqlConnection> {
        private final Function<O, Future<C>> open;
        private final Function<C, Future<Session>> look;
        private final List<Attempt> attempts;
        private int tried;

        Search(Function<O, Future<C>> open, Function<C, Future<Session>> look, List<Attempt> attempts) {
            this.open = open;
            this.look = look;
            this.attempts = attempts;
        }

        Future<Found<O, C>> next(@Nullable Throwable last) {
            if (tried == attempts.size()) {
                return Future.failedFuture(
                        last == null ? UnusableSessionException.otherServer(url.noneIs(target)) : last);
            }
            Attempt attempt = attempts.get(tried++);
            return open.apply(servers.get(attempt.server))
                    .compose(connection -> looked(connection, attempt))
                    .recover(failure -> failure instanceof UnusableSessionException e && !e.isOtherServer()
                            ? Future.failedFuture(e)
                            : next(worse(last, failure)));
        }

        private Future<Found<O, C>> looked(C connection, Attempt attempt) {
            return look.apply(connection)
                    .compose(session -> {
                        if (!attempt.accepts(session)) {
                            throw UnusableSessionException.otherServer(url.noneIs(target));
                        }
                        return session.standby() || servers.size() == 1
                                ? Future.succeededFuture(session)
                                : timelines
                                        .requireNewest(connection, url.servers().get(attempt.server))
                                        .map(session);
                    })
                    .map(session -> {
                        remember(attempt);
                        return new Found<>(servers.get(attempt.server), connection, session);
                    })
                    .recover(failure -> connection.close().transform(closed -> Future.failedFuture(failure)));
        }

        // A standby in place of the primary explains more than an unreachable server.
        private Throwable worse(@Nullable Throwable last, Throwable failure) {
            return last instanceof UnusableSessionException ? last : failure;
        }
    }
}
