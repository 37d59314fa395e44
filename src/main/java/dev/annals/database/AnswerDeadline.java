package dev.annals.database;

import dev.annals.config.AnnalsConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.util.concurrent.Future;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.impl.SocketConnectionBase;
import io.vertx.sqlclient.impl.SqlConnectionInternal;
import io.vertx.sqlclient.impl.command.CommandBase;
import io.vertx.sqlclient.impl.command.CommandResponse;
import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import jdk.net.ExtendedSocketOptions;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection to the database whose other end does not answer. PostgreSQL ends a statement by itself once its
 * {@code statement_timeout} and {@code lock_timeout} are over; whatever takes longer than both is a path that swallows packets, a
 * frozen server, or a proxy that has forgotten the connection. None of them would ever say so.
 *
 * <p>It stands in the connection's own pipeline, so that nothing can pass it by: each statement, {@code BEGIN} and {@code
 * COMMIT}, and the login have a deadline, whoever sends them. Whatever was in flight on a closed connection fails as on any
 * lost connection, and the pool opens a new one. If the {@link DatabasePath} was broken in the meantime and is whole again, no
 * deadline is waited for.
 */
public final class AnswerDeadline {

    private static final Logger LOG = Logger.getLogger(AnswerDeadline.class);
    /** What the client calls its own handler. */
    private static final String CODEC = "codec";

    private static final int KEEPALIVE_IDLE_SECONDS = 10;
    private static final int KEEPALIVE_INTERVAL_SECONDS = 5;
    private static final int KEEPALIVE_PROBES = 3;

    private AnswerDeadline() {}

    /**
     * Makes channels as the other factory does, with the deadlines that the configuration names.
     *
     * @param path shared by all connections to the database
     */
    public static ChannelFactory<Channel> on(
            ChannelFactory<? extends Channel> channels, AnnalsConfig.Database config, DatabasePath path) {
        return () -> {
            Channel channel = channels.newChannel();
            // What idles in a pool is asked, too, whether its other end is still there.
            channel.config().setOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPIDLE), KEEPALIVE_IDLE_SECONDS);
            channel.config()
                    .setOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPINTERVAL), KEEPALIVE_INTERVAL_SECONDS);
            channel.config().setOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPCOUNT), KEEPALIVE_PROBES);
            channel.pipeline().addLast(new Door(new Watch(config.connectTimeout(), ofStatement(config), path)));
            return channel;
        };
    }

    /** How long a statement may be under way, as the client sees it. */
    static Duration ofStatement(AnnalsConfig.Database config) {
        return config.statementTimeout().plus(config.lockTimeout()).plus(config.answerTimeout());
    }

    /** Closes a connection, whatever is under way on it: that fails as on any lost connection. */
    static void giveUp(SqlConnection connection) {
        Channel channel = channel(connection);
        channel.eventLoop().execute(() -> closeFirst(channel.pipeline()));
    }

    /** Runs the action once the connection is closed, or at once if it is. */
    static void whenClosed(SqlConnection connection, Runnable action) {
        var unused = channel(connection).closeFuture().addListener(closed -> action.run());
    }

    private static Channel channel(SqlConnection connection) {
        return ((SocketConnectionBase) ((SqlConnectionInternal) connection).unwrap())
                .socket()
                .channelHandlerContext()
                .channel();
    }

    // Past all handlers: they would say goodbye, and wait for the other end to close, too.
    private static void closeFirst(ChannelPipeline pipeline) {
        ChannelHandlerContext first = pipeline.firstContext();
        // Of a connection that is closed already nothing is left.
        if (first != null) {
            var unused = first.close();
        }
    }

    /** Waits until the client has put its codec in, and then puts the watch behind it, where statements are whole. */
    private static final class Door extends ChannelOutboundHandlerAdapter {
        private final Watch watch;

        Door(Watch watch) {
            this.watch = watch;
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
            ChannelPipeline pipeline = context.pipeline();
            if (pipeline.get(CODEC) != null) {
                pipeline.addAfter(CODEC, "answer-deadline", watch);
                pipeline.remove(this);
            }
            super.write(context, message, promise);
        }
    }

    /** Counts the statements that are under way, and closes the connection when the first of them takes too long. */
    // The connection's other handlers see the outcome of a close.
    @SuppressWarnings("FutureReturnValueIgnored")
    static final class Watch extends ChannelDuplexHandler {
        private final long loginNanos;
        private final long statementNanos;
        private final DatabasePath path;
        private boolean loggedIn;
        private int underWay;
        /** Since when the first of them has been the first. */
        private long since;

        /** When the other end was last heard. */
        private volatile long heard;

        private volatile @Nullable ChannelHandlerContext context;
        /** Of the other end; null where the connection is lost already. */
        private volatile @Nullable SocketAddress address;

        private @Nullable Future<?> look;

        Watch(Duration login, Duration statement, DatabasePath path) {
            this.loginNanos = login.toNanos();
            this.statementNanos = statement.toNanos();
            this.path = path;
        }

        @Override
        public void handlerAdded(ChannelHandlerContext context) {
            since = System.nanoTime();
            heard = since;
            this.context = context;
            address = context.channel().remoteAddress();
            path.add(this);
            lookAfter(loginNanos, context);
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
            if (loggedIn && message instanceof CommandBase) {
                if (underWay == 0) {
                    since = System.nanoTime();
                }
                underWay++;
                if (look == null) {
                    lookAfter(Math.min(statementNanos, DatabasePath.PATIENCE_NANOS), context);
                }
            }
            super.write(context, message, promise);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof CommandResponse) {
                since = System.nanoTime();
                heard = since;
                if (loggedIn) {
                    underWay--;
                } else {
                    // The login is a command of its own, and the first to be answered.
                    loggedIn = true;
                }
            }
            context.fireChannelRead(message);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            path.remove(this);
            if (look != null) {
                look.cancel(false);
            }
            context.fireChannelInactive();
        }

        /** What was under way fails with the connection. The client would print the exception besides, for each connection. */
        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            if (cause instanceof IOException) {
                context.close();
            } else {
                context.fireExceptionCaught(cause);
            }
        }

        // One timer at a time, whatever the number of statements.
        private void lookAfter(long nanos, ChannelHandlerContext context) {
            look = context.executor().schedule(() -> look(context), nanos, TimeUnit.NANOSECONDS);
        }

        private void look(ChannelHandlerContext context) {
            look = null;
            if (loggedIn && underWay == 0) {
                return;
            }
            long limit = loggedIn ? statementNanos : loginNanos;
            long waited = System.nanoTime() - since;
            if (waited < limit) {
                SocketAddress database = address;
                if (waited >= DatabasePath.PATIENCE_NANOS && database != null) {
                    path.suspect(database, context.channel().eventLoop());
                }
                lookAfter(Math.min(limit - waited, DatabasePath.PATIENCE_NANOS), context);
                return;
            }
            SocketAddress database = address;
            LOG.warnf(
                    "The database has not answered for %d ms: the connection to it is given up",
                    TimeUnit.NANOSECONDS.toMillis(limit));
            closeFirst(context.pipeline());
            if (loggedIn && database != null) {
                path.giveUpSilentSince(database, since);
            }
        }

        boolean isOf(SocketAddress database) {
            return database.equals(address);
        }

        /** The path to the other end was broken then, and may be whole again. */
        void closeIfSilentSince(SocketAddress database, long then) {
            ChannelHandlerContext there = context;
            if (there != null && isOf(database) && heard - then < 0) {
                there.executor().execute(() -> closeFirst(there.pipeline()));
            }
        }
    }
}
