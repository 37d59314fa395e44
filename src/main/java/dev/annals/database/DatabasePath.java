package dev.annals.database;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.SocketAddress;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
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
// Each connection ends in its handler, whatever the futures on the way say.
@SuppressWarnings("FutureReturnValueIgnored")
public final class DatabasePath {

    /** How long an answer may take before anybody asks. */
    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final Logger LOG = Logger.getLogger(DatabasePath.class);
    private static final int QUESTION_MILLIS = 2_000;
    private static final int INTERVAL_MILLIS = 1_000;
    private static final int QUESTION_BYTES = 8;
    private static final int SSL_REQUEST = 80_877_103;

    private final Set<AnswerDeadline.Watch> watches = ConcurrentHashMap.newKeySet();
    private final Map<SocketAddress, Road> roads = new ConcurrentHashMap<>();
    private final boolean severalServers;

    /** What is known of the way to one address. */
    private static final class Road {
        private boolean asking;
        private boolean broken;
        /** When the last question began that got no answer. */
        private long lastBroken;
    }

    /** @param severalServers whether there is anywhere else to go if one of them does not answer */
    public DatabasePath(boolean severalServers) {
        this.severalServers = severalServers;
    }

    void add(AnswerDeadline.Watch watch) {
        watches.add(watch);
    }

    void remove(AnswerDeadline.Watch watch) {
        watches.remove(watch);
    }

    /** An answer of the database at this address is overdue. */
    void suspect(SocketAddress database, EventLoop eventLoop) {
        Road road = roads.computeIfAbsent(database, address -> new Road());
        synchronized (road) {
            if (road.asking) {
                return;
            }
            road.asking = true;
        }
        ask(database, eventLoop);
    }

    /**
     * Closes the connections to this address whose other end was last heard before then: the path has probably lost them as well. If it has not,
     * little is wasted: an idle connection is opened anew, and a statement that has run for so long is sent again.
     */
    void giveUpSilentSince(SocketAddress database, long then) {
        watches.forEach(watch -> watch.closeIfSilentSince(database, then));
    }

    // A failed attempt to connect, too, ends in the handler: it is then closed without an answer.
    private void ask(SocketAddress database, EventLoop eventLoop) {
        Question question = new Question(database, eventLoop);
        new Bootstrap()
                .group(eventLoop)
                .channelFactory(NioSocketChannel::new)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, QUESTION_MILLIS)
                .handler(question)
                .connect(database);
    }

    private void answered(SocketAddress database, EventLoop eventLoop, boolean there, long began) {
        Road road = roads.computeIfAbsent(database, address -> new Road());
        long since;
        synchronized (road) {
            if (!there && watches.stream().anyMatch(watch -> watch.isOf(database))) {
                if (!road.broken) {
                    LOG.warnf("The database at %s cannot be reached", database);
                }
                road.broken = true;
                road.lastBroken = began;
                eventLoop.schedule(() -> ask(database, eventLoop), INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
                if (severalServers) {
                    giveUpSilentSince(database, began);
                }
                return;
            }
            road.asking = false;
            roads.remove(database, road);
            if (!road.broken) {
                return;
            }
            road.broken = false;
            since = road.lastBroken;
        }
        if (there) {
            LOG.infof("The database at %s can be reached again", database);
            giveUpSilentSince(database, since);
        }
    }

    /** One question on one connection. */
    private final class Question extends SimpleChannelInboundHandler<ByteBuf> {
        private final SocketAddress database;
        private final EventLoop eventLoop;
        private final long began = System.nanoTime();
        private boolean answered;

        Question(SocketAddress database, EventLoop eventLoop) {
            this.database = database;
            this.eventLoop = eventLoop;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            ByteBuf question = context.alloc()
                    .buffer(QUESTION_BYTES)
                    .writeInt(QUESTION_BYTES)
                    .writeInt(SSL_REQUEST);
            context.writeAndFlush(question);
            eventLoop.schedule(() -> context.close(), QUESTION_MILLIS, TimeUnit.MILLISECONDS);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf answer) {
            answered = true;
            context.close();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }

        /** Comes once, also where the attempt to connect failed. */
        @Override
        public void channelUnregistered(ChannelHandlerContext context) {
            answered(database, eventLoop, answered, began);
        }
    }
}
