package dev.annals.database;

import dev.annals.quarantine.AnswerDeadline;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import io.vertx.sqlclient.SqlConnection;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jboss.logging.Logger;

/**
 * Learns when the network between the service and its database breaks and when it is whole again. While an answer is overdue,
 * it asks the database, on a connection of its own, whether it speaks TLS: every PostgreSQL answers that with one byte, before
 * any login (PostgreSQL's documentation, "SSL Session Encryption"). Where that fails and later succeeds, whatever was silent
 * in between has lost its path and is closed, instead of waiting for its {@link AnswerDeadline}. Where there are several
 * servers, nothing waits for one of them to come back: what is silent is closed as soon as the question fails. Where it succeeds
 * at once, the answer is only slow, unless the path has forgotten that one connection. Then the answer's deadline ends it, and with it
 * the others that were silent since.
 *
 * <p>Safe for any thread.
 */
final class DatabasePath {

    /** How long an answer may take before the database is asked. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

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

    /** The state of the way to one address. */
    private static final class State {
        private boolean asking;
        private boolean broken;
        /** When the last question began that got no answer. */
        private long lastBroken;
    }

    /**
     * Watches no connection yet.
     *
     * @param deadline how long the answer to a statement may take
     * @param severalServers whether there is anywhere else to go if one of them does not answer
     */
    DatabasePath(Vertx vertx, Duration deadline, boolean severalServers) {
        this.vertx = vertx;
        this.client = vertx.createNetClient(new NetClientOptions().setConnectTimeout(QUESTION_MILLIS));
        this.connections = new AnswerDeadline(deadline, PATIENCE, this::suspect);
        this.severalServers = severalServers;
    }

    /** Watches a new connection, and returns it. */
    <C extends SqlConnection> C watched(C connection) {
        return connections.on(connection);
    }

    /** An answer of the database at this address is overdue. */
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
            state.asking = false;
            states.remove(database, state);
            if (!state.broken) {
                return;
            }
            state.broken = false;
            since = state.lastBroken;
        }
        if (there) {
            LOG.infof("The database at %s can be reached again", database);
            // The path has probably lost them as well. If it has not, little is wasted: an idle connection is opened
            // anew, and a statement that has run for so long is sent again.
            connections.closeSilentSince(database, since);
        }
    }
}
