package dev.annals.kernel.database;

import dev.annals.kernel.quarantine.AnswerDeadline;
import dev.annals.kernel.quarantine.AnswerDeadline.Waiting;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.Tuple;
import io.vertx.sqlclient.spi.ConnectionFactory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jboss.logging.Logger;

/**
 * Detects lost connections before their {@link AnswerDeadline}. While an answer is overdue, it asks the database, on another
 * connection, whether it speaks TLS: every PostgreSQL answers with one byte, before any login (PostgreSQL's documentation, "SSL
 * Session Encryption").
 *
 * <p>If the question fails and later succeeds, connections that were silent in between are closed; with several servers, as
 * soon as it fails. If it succeeds at once, a new connection asks whether the waiting session is in a transaction. If it twice
 * is not, and no byte arrived in between, the statement or its answer was lost: the connection is closed, with the idle ones.
 * Behind a pooler the session is unknown, and only the deadline applies.
 *
 * <p>Thread-safe.
 */
final class DatabasePath {

    private static final Duration PATIENCE = Duration.ofSeconds(3);
    /** The longest time of a part of a statement or an answer on the network. */
    private static final Duration ON_THE_WAY = Duration.ofSeconds(2);

    private static final Sql FIND_WORKING_SESSIONS = Sql.named("kernel/database/find_working_sessions");
    private static final Logger LOG = Logger.getLogger(DatabasePath.class);
    private static final int QUESTION_MILLIS = 2_000;
    private static final int INTERVAL_MILLIS = 1_000;
    private static final int QUESTION_BYTES = 8;
    private static final int SSL_REQUEST = 80_877_103;

    private final Vertx vertx;
    private final NetClient client;
    private final AnswerDeadline connections;
    private final Map<InetSocketAddress, State> states = new ConcurrentHashMap<>();
    private final boolean severalServers;
    /** What the server may still do for connections that were given up. One question is under way unless it is empty. */
    private final Map<Backend, Promise<Void>> left = new HashMap<>();

    private static final class State {
        private boolean asking;
        private boolean broken;
        /** The beginning of the last question without an answer. */
        private long lastBroken;
    }

    DatabasePath(Vertx vertx, Duration deadline, boolean severalServers) {
        this.vertx = vertx;
        this.client = vertx.createNetClient(new NetClientOptions().setConnectTimeout(QUESTION_MILLIS));
        this.connections = new AnswerDeadline(deadline, PATIENCE, this::suspect);
        this.severalServers = severalServers;
    }

    void close() {
        client.close();
    }

    private record Backend(ConnectionFactory server, long started, int process) {}

    <C extends SqlConnection> C watched(C connection) {
        return connections.on(connection);
    }

    /** Names the session of a watched connection, unless a pooler hides it. */
    void leadsTo(Servers.Found<ConnectionFactory, ? extends SqlConnection> found) {
        Session session = found.session();
        if (session.answersAlone(found.connection())) {
            AnswerDeadline.leadsTo(
                    found.connection(), new Backend(found.server(), session.started(), session.backend()));
        }
    }

    /** Completes once the server has ended what it did for a connection that was given up; at once for any other. */
    Future<Void> ended(SqlConnection connection) {
        Backend backend = (Backend) AnswerDeadline.givenUp(connection);
        if (backend == null) {
            return Future.succeededFuture();
        }
        Promise<Void> ended;
        boolean first;
        synchronized (left) {
            first = left.isEmpty();
            // A pool may give a connection to another statement after its end.
            ended = left.computeIfAbsent(backend, unknown -> Promise.promise());
        }
        if (first) {
            askLeft();
        }
        return ended.future();
    }

    private void askLeft() {
        List<Backend> asked;
        synchronized (left) {
            asked = List.copyOf(left.keySet());
        }
        working(asked).onComplete(answer -> {
            List<Promise<Void>> ended = new ArrayList<>();
            boolean again;
            synchronized (left) {
                for (Backend backend : asked) {
                    // With several servers, another one may have taken over.
                    if (answer.succeeded() ? !answer.result().has(backend) : severalServers) {
                        ended.add(left.remove(backend));
                    }
                }
                again = !left.isEmpty();
            }
            if (again) {
                vertx.setTimer(INTERVAL_MILLIS, over -> askLeft());
            }
            ended.forEach(Promise::complete);
        });
    }

    private void suspect(InetSocketAddress database) {
        State state = states.computeIfAbsent(database, address -> new State());
        synchronized (state) {
            if (state.asking) {
                return;
            }
            state.asking = true;
        }
        ask(database);
    }

    private void ask(InetSocketAddress database) {
        long began = System.nanoTime();
        client.connect(SocketAddress.inetSocketAddress(database))
                .onSuccess(socket -> ask(database, socket, began))
                .onFailure(failure -> answered(database, false, began));
    }

    private void ask(InetSocketAddress database, NetSocket socket, long began) {
        AtomicBoolean there = new AtomicBoolean();
        long late = vertx.setTimer(QUESTION_MILLIS, over -> socket.close());
        socket.handler(answer -> {
            there.set(true);
            socket.close();
        });
        socket.exceptionHandler(failure -> {});
        socket.closeHandler(closed -> {
            vertx.cancelTimer(late);
            answered(database, there.get(), began);
        });
        socket.write(Buffer.buffer(QUESTION_BYTES).appendInt(QUESTION_BYTES).appendInt(SSL_REQUEST));
    }

    private void answered(InetSocketAddress database, boolean there, long began) {
        State state = states.computeIfAbsent(database, address -> new State());
        long since;
        boolean wasBroken;
        synchronized (state) {
            if (!there && connections.watches(database)) {
                if (!state.broken) {
                    LOG.warnf("The database at %s cannot be reached", database);
                }
                state.broken = true;
                state.lastBroken = began;
                vertx.setTimer(INTERVAL_MILLIS, again -> ask(database));
                if (severalServers) {
                    connections.closeSilentSince(database, began);
                }
                return;
            }
            wasBroken = state.broken;
            state.broken = false;
            since = state.lastBroken;
            if (wasBroken || !there) {
                state.asking = false;
                states.remove(database, state);
            }
        }
        if (there && wasBroken) {
            LOG.infof("The database at %s can be reached again", database);
            // If the path has not lost them, little is wasted: they are opened anew.
            connections.closeSilentSince(database, since);
        } else if (there) {
            findForgotten(database, state, Set.of());
        }
    }

    /** @param idle the connections whose sessions were not in a transaction a moment ago */
    private void findForgotten(InetSocketAddress database, State state, Set<Waiting> idle) {
        List<Waiting> waiting = connections.waiting(database, ON_THE_WAY);
        idle(waiting).onComplete(found -> {
            Set<Waiting> still = found.succeeded() ? new HashSet<>(found.result()) : Set.of();
            List<Waiting> forgotten = still.stream().filter(idle::contains).toList();
            if (!forgotten.isEmpty()) {
                forgotten.forEach(Waiting::giveUp);
                // The path may have forgotten the idle connections, too.
                connections.closeIdleSilentSince(database, System.nanoTime() - ON_THE_WAY.toNanos());
            }
            if (still.size() > forgotten.size()) {
                vertx.setTimer(ON_THE_WAY.toMillis(), again -> findForgotten(database, state, still));
                return;
            }
            synchronized (state) {
                state.asking = false;
                states.remove(database, state);
            }
        });
    }

    private Future<List<Waiting>> idle(List<Waiting> waiting) {
        if (waiting.isEmpty()) {
            return Future.succeededFuture(List.of());
        }
        return working(waiting.stream().map(DatabasePath::backend).toList())
                .map(working -> waiting.stream()
                        .filter(each -> working.lacks(backend(each)))
                        .toList());
    }

    /** The sessions of a server that are in a transaction. A proxy may have led to another server, which does not know those asked for. */
    private record Working(long started, List<Integer> processes) {
        boolean lacks(Backend backend) {
            return started == backend.started && !processes.contains(backend.process);
        }

        boolean has(Backend backend) {
            return started == backend.started && processes.contains(backend.process);
        }
    }

    private Future<Working> working(List<Backend> backends) {
        Integer[] processes = backends.stream().map(Backend::process).toArray(Integer[]::new);
        return backends.get(0)
                .server
                .connect(vertx.getOrCreateContext())
                .compose(connection -> connection
                        .preparedQuery(FIND_WORKING_SESSIONS.text())
                        .execute(Tuple.of(processes))
                        .timeout(QUESTION_MILLIS, TimeUnit.MILLISECONDS)
                        .onSuccess(answered -> connection.close())
                        .onFailure(failure -> AnswerDeadline.giveUp(connection)))
                .map(rows -> {
                    Row row = rows.iterator().next();
                    return new Working(row.getLong("started"), List.of(row.getArrayOfIntegers("working")));
                });
    }

    private static Backend backend(Waiting waiting) {
        return (Backend) waiting.session();
    }
}
