package dev.annals.kernel.quarantine;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.impl.SocketConnectionBase;
import io.vertx.sqlclient.impl.SqlConnectionInternal;
import io.vertx.sqlclient.impl.command.CommandBase;
import io.vertx.sqlclient.impl.command.CommandResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import jdk.net.ExtendedSocketOptions;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Closes connections to a database that does not answer. PostgreSQL ends a statement by itself after {@code statement_timeout}
 * and {@code lock_timeout}; an answer that takes longer than both never arrives. Vert.x's own limits do not suffice: its
 * PostgreSQL client answers a close with a goodbye, and then waits for the other end.
 *
 * <p>The deadline is a handler behind the client's codec, so it applies to every statement, {@code BEGIN} and {@code COMMIT}.
 * Thread-safe.
 */
public final class AnswerDeadline {

    private static final Logger LOG = Logger.getLogger(AnswerDeadline.class);

    private static final AttributeKey<Object> SESSION = AttributeKey.valueOf(AnswerDeadline.class, "session");
    private static final AttributeKey<Boolean> GIVEN_UP = AttributeKey.valueOf(AnswerDeadline.class, "given up");

    /** The longest time between two reports. */
    private static final long REPORT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final int KEEPALIVE_IDLE_SECONDS = 10;
    private static final int KEEPALIVE_INTERVAL_SECONDS = 5;
    private static final int KEEPALIVE_PROBES = 3;

    private final long deadlineNanos;
    private final long patienceNanos;
    private final Consumer<InetSocketAddress> overdue;
    private final Set<Watch> watches = ConcurrentHashMap.newKeySet();

    /**
     * Watches no connection yet.
     *
     * @param deadline for one answer
     * @param patience after which an answer is overdue
     * @param overdue gets the address of the database repeatedly, on the connection's event loop
     */
    public AnswerDeadline(Duration deadline, Duration patience, Consumer<InetSocketAddress> overdue) {
        this.deadlineNanos = deadline.toNanos();
        this.patienceNanos = Math.min(deadlineNanos, patience.toNanos());
        this.overdue = overdue;
    }

    /** Watches a connection after its login, from the next statement on. */
    public <C extends SqlConnection> C on(C connection) {
        ChannelHandlerContext client = client(connection);
        if (client.executor().inEventLoop()) {
            watch(client);
        } else {
            client.executor().execute(() -> watch(client));
        }
        return connection;
    }

    private void watch(ChannelHandlerContext client) {
        if (client.isRemoved() || !(client.channel().remoteAddress() instanceof InetSocketAddress database)) {
            return;
        }
        Channel channel = client.channel();
        // Probes detect that the other end of an idle connection is gone.
        channel.config().setOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPIDLE), KEEPALIVE_IDLE_SECONDS);
        channel.config()
                .setOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPINTERVAL), KEEPALIVE_INTERVAL_SECONDS);
        channel.config().setOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPCOUNT), KEEPALIVE_PROBES);
        Watch watch = new Watch(database);
        channel.pipeline().addBefore(client.name(), null, watch);
        if (channel.pipeline().get(LoginDeadline.class) != null) {
            channel.pipeline().remove(LoginDeadline.class);
        }
        watches.add(watch);
        var unused = channel.closeFuture().addListener(closed -> watches.remove(watch));
    }

    public boolean watches(InetSocketAddress database) {
        return watches.stream().anyMatch(watch -> watch.database.equals(database));
    }

    /** Closes the connections that have received nothing since then, by {@link System#nanoTime}. */
    public void closeSilentSince(InetSocketAddress database, long then) {
        watches.stream()
                .filter(watch -> watch.database.equals(database))
                .forEach(watch -> watch.closeIfSilentSince(then));
    }

    public void closeIdleSilentSince(InetSocketAddress database, long then) {
        watches.stream()
                .filter(watch -> watch.database.equals(database) && !watch.waits)
                .forEach(watch -> watch.closeIfSilentSince(then));
    }

    /**
     * Names the session of a watched connection.
     *
     * @param session identifies the server's session behind a watched connection
     */
    public static void leadsTo(SqlConnection connection, Object session) {
        ChannelHandlerContext client = client(connection);
        client.channel().attr(SESSION).set(session);
        client.executor().execute(() -> {
            Watch watch = client.channel().pipeline().get(Watch.class);
            // A closed connection has none.
            if (watch != null) {
                watch.session = session;
            }
        });
    }

    /** The connections with a known session that have waited for so long. */
    public List<Waiting> waiting(InetSocketAddress database, Duration atLeast) {
        long now = System.nanoTime();
        return watches.stream()
                .filter(watch -> watch.database.equals(database) && watch.session != null && watch.waits)
                .map(watch -> new Waiting(watch))
                .filter(waiting -> now - waiting.since >= atLeast.toNanos())
                .toList();
    }

    /** A connection that waits for an answer. Equal to a later one if no byte was sent or received in between. */
    public static final class Waiting {
        private final Watch watch;
        private final long since;
        private final long heard;
        private final long unsent;

        private Waiting(Watch watch) {
            this.watch = watch;
            this.since = watch.since;
            this.heard = watch.heard;
            this.unsent = watch.unsent();
        }

        public Object session() {
            return Objects.requireNonNull(watch.session);
        }

        /** Does nothing if the answer has arrived. */
        public void giveUp() {
            ChannelHandlerContext there = watch.context;
            if (there != null) {
                there.executor().execute(() -> {
                    if (watch.waits && equals(new Waiting(watch))) {
                        LOG.warnf(
                                "The database at %s is done with a statement or never got it, and no answer has arrived for"
                                        + " %d ms: the connection is given up",
                                watch.database, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since));
                        closeFirst(there.pipeline());
                    }
                });
            }
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Waiting that
                    && watch == that.watch
                    && since == that.since
                    && heard == that.heard
                    && unsent == that.unsent;
        }

        @Override
        public int hashCode() {
            return Objects.hash(watch, since, heard, unsent);
        }
    }

    /** Statements under way fail as on any lost connection. */
    public static void giveUp(SqlConnection connection) {
        Channel channel = client(connection).channel();
        channel.eventLoop().execute(() -> closeFirst(channel.pipeline()));
    }

    /** The session that {@link #leadsTo} named, if this end gave the connection up; null otherwise. The server may not have noticed. */
    public static @Nullable Object givenUp(SqlConnection connection) {
        Channel channel = client(connection).channel();
        return Boolean.TRUE.equals(channel.attr(GIVEN_UP).get())
                ? channel.attr(SESSION).get()
                : null;
    }

    /** Runs the action at once if the connection is closed already. */
    public static void whenClosed(SqlConnection connection, Runnable action) {
        var unused = client(connection).channel().closeFuture().addListener(closed -> action.run());
    }

    static ChannelHandlerContext client(SqlConnection connection) {
        // A connection of a pool is one around another.
        return ((SocketConnectionBase)
                        ((SqlConnectionInternal) connection).unwrap().unwrap())
                .socket()
                .channelHandlerContext();
    }

    // Bypasses the handlers, which would say goodbye and wait for the other end.
    static void closeFirst(ChannelPipeline pipeline) {
        ChannelHandlerContext first = pipeline.firstContext();
        // A closed connection has none.
        if (first != null) {
            first.channel().attr(GIVEN_UP).set(true);
            var unused = first.close();
        }
    }

    // Other handlers see the outcome of a close.
    @SuppressWarnings("FutureReturnValueIgnored")
    private final class Watch extends ChannelDuplexHandler {
        private final InetSocketAddress database;
        private volatile @Nullable Object session;
        private int underWay;
        private volatile boolean waits;
        /** When the first statement became the first. */
        private volatile long since;

        /** The time of the last bytes, even of a part of an answer. */
        private volatile long heard = System.nanoTime();

        private volatile @Nullable ChannelHandlerContext context;
        private @Nullable Future<?> look;

        Watch(InetSocketAddress database) {
            this.database = database;
        }

        @Override
        public void handlerAdded(ChannelHandlerContext context) {
            this.context = context;
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            if (message instanceof CommandBase) {
                if (underWay == 0) {
                    since = System.nanoTime();
                }
                underWay++;
                waits = true;
                if (look == null) {
                    lookAfter(patienceNanos, context);
                }
            }
            context.write(message, promise);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof CommandResponse) {
                since = System.nanoTime();
                underWay--;
                waits = underWay > 0;
            }
            context.fireChannelRead(message);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            heard = System.nanoTime();
            context.fireChannelReadComplete();
        }

        /** The bytes of a long statement that have not left yet; 0 for a short statement. */
        long unsent() {
            ChannelHandlerContext there = context;
            return there == null ? 0 : there.channel().bytesBeforeWritable();
        }

        @Override
        public void handlerRemoved(ChannelHandlerContext context) {
            if (look != null) {
                look.cancel(false);
            }
        }

        /** Statements fail with the connection. The client would also print each exception. */
        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            if (cause instanceof IOException) {
                context.close();
            } else {
                context.fireExceptionCaught(cause);
            }
        }

        // One timer for all statements.
        private void lookAfter(long nanos, ChannelHandlerContext context) {
            look = context.executor().schedule(() -> look(context), nanos, TimeUnit.NANOSECONDS);
        }

        private void look(ChannelHandlerContext context) {
            look = null;
            if (underWay == 0) {
                return;
            }
            long waited = System.nanoTime() - since;
            if (waited < deadlineNanos) {
                if (waited >= patienceNanos) {
                    overdue.accept(database);
                }
                long next = Math.max(patienceNanos, Math.min(waited, REPORT_NANOS));
                lookAfter(Math.min(deadlineNanos - waited, next), context);
                return;
            }
            LOG.warnf(
                    "The database at %s has not answered for %d ms: the connection to it is given up",
                    database, TimeUnit.NANOSECONDS.toMillis(deadlineNanos));
            closeFirst(context.pipeline());
            closeSilentSince(database, since);
        }

        void closeIfSilentSince(long then) {
            ChannelHandlerContext there = context;
            if (there != null && heard - then < 0) {
                there.executor().execute(() -> closeFirst(there.pipeline()));
            }
        }
    }
}
